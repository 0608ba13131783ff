import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { doorNames } from '@svc/artifacts/manifest/door-names.ts';
import { received } from '../../kit/test/http/raw-client.ts';
import { type A2aCapsule, useA2aCapsules } from './a2a-capsule.ts';
import { Speaker } from './speaker.ts';

const openCapsule = useA2aCapsules();

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
const chat = { model: 'demo', messages: [{ role: 'user', content: 'x' }] };
const call = (method: string, params: unknown): unknown => ({ jsonrpc: '2.0', id: 1, method, params });
const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };

interface Asked {
  readonly path: string;
  /** None for GET. */
  readonly body?: unknown;
  readonly headers?: readonly string[];
}

function bytesOf({ path, body, headers = [] }: Asked): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const typed = body === undefined ? [] : ['content-type: application/json', `content-length: ${text.length}`];
  const accept = 'accept: application/json, text/event-stream';
  const lines = ['host: localhost', 'a2a-version: 1.0', accept, ...typed, ...headers];
  return `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
}

/** A client that has ended its half, which the capsule has seen: what came later is answered. */
async function halfClosed(capsule: A2aCapsule, asked: Asked): Promise<Socket> {
  const socket = connect(capsule.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.end(bytesOf(asked));
  await once(socket, 'finish');
  await (await fetch(`${capsule.url}/.well-known/agent-card.json`)).text();
  return socket;
}

const toolCall = call('tools/call', { name: 'demo', arguments: { task: 'x' }, _meta: modern });
const toolHeaders = ['mcp-protocol-version: 2026-07-28', 'mcp-method: tools/call', 'mcp-name: demo'];

describe('a client that ends its half of the connection behind its request has its answer', () => {
  it.each<[string, Asked, string]>([
    ['a message of A2A', { path: '/a2a', body: call('SendMessage', { message }) }, 'rain'],
    ['a stream of A2A', { path: '/a2a', body: call('SendStreamingMessage', { message }) }, 'STATE_COMPLETED'],
    ['a message over HTTP+JSON', { path: '/a2a/message:send', body: { message } }, 'rain'],
    ['a response', { path: '/v1/responses', body: { input: 'x' } }, 'rain'],
    ['a streamed response', { path: '/v1/responses', body: { input: 'x', stream: true } }, 'response.completed'],
    ['a chat', { path: '/v1/chat/completions', body: chat }, 'rain'],
    ['a streamed chat', { path: '/v1/chat/completions', body: { ...chat, stream: true } }, '[DONE]'],
    ['a call of the tool', { path: '/mcp', body: toolCall, headers: toolHeaders }, '"state":"completed"'],
  ])('%s', async (_what, asked, answer) => {
    const speaker = new Speaker();
    const capsule = (await openCapsule({ serve: [...doorNames], turns: [speaker.turn] })).run();
    const socket = await halfClosed(capsule, asked);
    const answered = received(socket, answer);
    await speaker.say('rain');
    await speaker.end();
    expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
    await once(socket, 'close');
  });

  it.each<[string, Asked, string]>([
    ['the models', { path: '/v1/models' }, '"owned_by"'],
    ['the tasks', { path: '/a2a/tasks' }, '"nextPageToken"'],
    ['a response that is not there', { path: '/v1/responses/resp_tsk_0' }, 'response_not_found'],
    ['a beginning of MCP', { path: '/mcp', body: call('initialize', initialize) }, '"serverInfo"'],
    ['the first request of JSON-RPC', { path: '/', body: call('tasks/get', { id: 'tsk_0' }) }, '-32001'],
  ])('%s', async (_what, asked, answer) => {
    const capsule = await openCapsule({ serve: [...doorNames] });
    const socket = connect(capsule.port, '127.0.0.1');
    const answered = received(socket, answer);
    socket.end(bytesOf(asked));
    expect(await answered).toMatch(/^HTTP\/1\.1 [24]/);
    await once(socket, 'close');
  });
});

describe('one that then leaves', () => {
  it('has the call of a tool taken back', async () => {
    const speaker = new Speaker();
    const capsule = (await openCapsule({ serve: ['mcp'], turns: [speaker.turn] })).run();
    const socket = await halfClosed(capsule, { path: '/mcp', body: toolCall, headers: toolHeaders });
    await received(socket, ':\n\n');
    const canceled = new Promise<void>((resolve) => {
      capsule.fixture.session.activity.subscribe(({ kind }) => {
        if (kind === 'task-canceled') resolve();
      });
    });
    expect(capsule.fixture.session.board.current()?.state).toBe('working');
    socket.destroy();
    await canceled;
  });
});
