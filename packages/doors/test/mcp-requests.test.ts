import { afterEach, describe, expect, it } from 'vitest';

import type { Client } from '@modelcontextprotocol/client';
import { calls, hangs, says, type Turn } from '../../../test/support/fake-driver.ts';
import { RawSocket } from '../../../test/support/raw-socket.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, type A2aOptions, type Json, useA2aCapsules } from './a2a-capsule.ts';
import { connectMcp } from './mcp-client.ts';

const openCapsule = useA2aCapsules();
const open = async (options: A2aOptions = {}): Promise<A2aCapsule> => await openCapsule({ serve: ['mcp'], ...options });
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : answer.kind);
});
const running = async (...turns: readonly Turn[]): Promise<A2aCapsule> => (await open({ turns, tools: [ask] })).run();

const accept = 'application/json, text/event-stream';
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

async function post(capsule: A2aCapsule, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return await capsule.post(text, { accept, ...headers }, '/mcp');
}

/** The last message of an answer, be it a stream or not. */
async function messageOf(response: Response): Promise<Json> {
  const text = await response.text();
  const data = text.startsWith('{')
    ? text
    : (text.split('\n').findLast((line) => line.startsWith('data: {')) ?? '').slice(6);
  return JSON.parse(data) as Json;
}

async function begin(capsule: A2aCapsule): Promise<string> {
  const response = await post(capsule, initialize);
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

/** A request of the newest revision, written by hand. */
async function modern(
  capsule: A2aCapsule,
  method: string,
  params: Json,
  capabilities: Json = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } },
): Promise<Json> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': String(params['taskId'] ?? params['name'] ?? params['uri'] ?? ''),
  };
  return await messageOf(await post(capsule, { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }, headers));
}

describe('a body for the door', () => {
  it.each([
    ['no JSON', '{', -32_700],
    ['nothing', '', -32_700],
    ['bytes that are no text', '"\u0000', -32_700],
    ['a text', '"hello"', -32_600],
    ['a batch', JSON.stringify([initialize]), -32_600],
    ['an id of 257 characters', JSON.stringify({ ...initialize, id: 'x'.repeat(257) }), -32_600],
    ['an id that no double holds', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', -32_600],
    ['65 levels', `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(64)}${']'.repeat(64)}}`, -32_600],
    ['half a character', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}', -32_602],
    ['40,000 values', `{"jsonrpc":"2.0","id":1,"method":"ping","params":[${'1,'.repeat(40_000)}1]}`, -32_600],
  ])('fails where it is %s', async (_what, body, code) => {
    const response = await post(await open(), body);
    expect([response.status, ((await response.json()) as Json)['error'].code]).toEqual([400, code]);
  });

  it('may have 10 MiB of JSON at the most', async () => {
    const capsule = await open();
    expect((await post(capsule, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(capsule, ' '.repeat(10 * 1024 * 1024 + 1))).status).toBe(413);
  });
});

describe('a client', () => {
  it('must come by a name of loopback, and from no page of another origin', async () => {
    const capsule = await open();
    const body = JSON.stringify(initialize);
    const status = async (lines: string, method = 'POST'): Promise<string> => {
      const socket = await RawSocket.open(capsule.port);
      const sent = method === 'POST' ? `content-type: application/json\r\ncontent-length: ${body.length}\r\n` : '';
      socket.send(`${method} /mcp HTTP/1.1\r\n${lines}accept: ${accept}\r\n${sent}connection: close\r\n\r\n`);
      if (method === 'POST') socket.send(body);
      const answer = await socket.untilClosed();
      expect(answer.toLowerCase()).not.toContain('access-control');
      return answer.slice(9, 12);
    };
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect(await status('host: localhost\r\norigin: https://evil.example\r\n', method)).toBe('403');
      expect(await status('host: localhost\r\nsec-fetch-site: cross-site\r\n', method)).toBe('403');
      expect(await status('host: evil.example\r\n', method)).toBe('421');
    }
    expect(await status('host: localhost\r\n')).toBe('200');
  });

  it('shows the token where one is asked for', async () => {
    const capsule = await open({ token: 'secret-of-the-operator' });
    const refused = await fetch(`${capsule.url}/mcp`, { method: 'POST', body: '{}' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
    const bearer = { authorization: 'Bearer secret-of-the-operator' };
    const client = await connectMcp(capsule, { revision: '2025-11-25', headers: bearer });
    clients.push(client);
    expect((await client.listTools()).tools).toHaveLength(1);
  });

  it('finds no door that is closed, and no other method', async () => {
    const closed = await openCapsule({ serve: ['a2a'] });
    expect((await post(closed, initialize)).status).toBe(404);
    const capsule = await open();
    const put = await fetch(`${capsule.url}/mcp`, { method: 'PUT', body: '{}' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, HEAD']);
    expect((await fetch(`${capsule.url}/mcp`, { method: 'HEAD' })).status).toBe(405);
  });
});

describe('a session of a client of before 2026', () => {
  it('begins with initialize, carries all else, and ends when it is deleted', async () => {
    const capsule = await open();
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    expect((await post(capsule, ping)).status).toBe(400);
    expect((await post(capsule, ping, { 'mcp-session-id': 'none' })).status).toBe(404);
    const id = await begin(capsule);
    const headers = { 'mcp-session-id': id };
    expect(await messageOf(await post(capsule, ping, headers))).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    expect((await post(capsule, initialize, headers)).status).toBe(400);
    expect((await fetch(`${capsule.url}/mcp`, { method: 'DELETE', headers })).status).toBe(200);
    expect((await post(capsule, ping, headers)).status).toBe(404);
  });

  it('gives way to a new one only where it is not in use: 256 at the most', async () => {
    const capsule = await open();
    const first = await begin(capsule);
    const stream = await fetch(`${capsule.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': first },
    });
    expect(stream.status).toBe(200);
    const second = await begin(capsule);
    for (let others = 0; others < 254; others += 1) await begin(capsule);
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    const knows = async (id: string): Promise<number> => {
      const response = await post(capsule, ping, { 'mcp-session-id': id });
      await response.text();
      return response.status;
    };
    capsule.fixture.clock.advance(1);
    expect(await knows(second)).toBe(200);
    await begin(capsule);
    expect([await knows(first), await knows(second)]).toEqual([200, 200]);
    await stream.body?.cancel();
  });

  it('ends after half an hour without use, when the next one comes', async () => {
    const capsule = await open();
    const old = await begin(capsule);
    capsule.fixture.clock.advance(30 * 60 * 1000 + 1);
    await begin(capsule);
    expect((await post(capsule, { jsonrpc: '2.0', id: 2, method: 'ping' }, { 'mcp-session-id': old })).status).toBe(
      404,
    );
  });

  it('loses its connection, and the task goes on', async () => {
    const capsule = await running(hangs);
    const headers = { 'mcp-session-id': await begin(capsule) };
    const leave = new AbortController();
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'demo', arguments: { task: 'x' } } };
    const asked = await fetch(`${capsule.url}/mcp`, {
      method: 'POST',
      headers: { accept, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(call),
      signal: leave.signal,
    });
    expect(asked.status).toBe(200);
    const { board } = capsule.fixture.session;
    while (board.current()?.state !== 'working') await new Promise((resolve) => setImmediate(resolve));
    leave.abort();
    expect(await messageOf(await post(capsule, { jsonrpc: '2.0', id: 4, method: 'ping' }, headers))).toMatchObject({
      id: 4,
    });
    expect(board.current()?.state).toBe('working');
    const taken = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } };
    expect((await post(capsule, taken, headers)).status).toBe(202);
    while ([...board.known()][0]?.state !== 'canceled') await new Promise((resolve) => setImmediate(resolve));
  });

  it('cannot resume: its streams name no events, and svc ignores the last one that a client names', async () => {
    const capsule = await running(says('x'));
    const headers = { 'mcp-session-id': await begin(capsule) };
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'demo', arguments: { task: 'x' } } };
    expect(await (await post(capsule, call, headers)).text()).not.toMatch(/^id:/m);
    const resumed = await fetch(`${capsule.url}/mcp`, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': '3_1' },
    });
    expect(resumed.status).toBe(200);
    await resumed.body?.cancel();
  });

  it('ends with the session of the capsule, whose streams close', async () => {
    const capsule = await running(says('x'));
    const id = await begin(capsule);
    const stream = await fetch(`${capsule.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': id },
    });
    await capsule.fixture.session.shutDown();
    capsule.fixture.stream.end();
    expect(await stream.text()).not.toContain('data:');
  });
});

describe('the tasks extension', () => {
  it('answers a call with a task, asks with a key of its own, and ends with the result of the call', async () => {
    const capsule = await running(calls(['ask', {}]), calls(['ask', {}]), says('Plum.'));
    const made = await modern(capsule, 'tools/call', { name: 'demo', arguments: { task: 'Paint.' } });
    expect(made['result']).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 1000 });
    const taskId = made['result'].taskId as string;
    const get = async (): Promise<Json> => (await modern(capsule, 'tasks/get', { taskId }))['result'] as Json;
    const until = async (status: string): Promise<Json> => {
      for (;;) {
        const got = await get();
        if (got['status'] === status) return got;
      }
    };
    const [first = ''] = Object.keys((await until('input_required'))['inputRequests'] as Json);
    expect((await get())['inputRequests'][first].params.message).toBe('Which colour?');
    const answer = (key: string): Json => ({
      taskId,
      inputResponses: { [key]: { action: 'accept', content: { answer: `plum ${key === first ? 1 : 2}` } } },
    });
    expect((await modern(capsule, 'tasks/update', answer(first)))['result']).toMatchObject({ resultType: 'complete' });
    const { board } = capsule.fixture.session;
    while (board.find(taskId)?.questions !== 2) await new Promise((resolve) => setImmediate(resolve));
    const [second = ''] = Object.keys((await until('input_required'))['inputRequests'] as Json);
    expect(second).not.toBe(first);
    await modern(capsule, 'tasks/update', answer(first));
    expect(board.find(taskId)?.state).toBe('input-required');
    await modern(capsule, 'tasks/update', answer(second));
    const { result } = await until('completed');
    expect(result).toMatchObject({
      content: [{ text: 'Plum.' }],
      structuredContent: { state: 'completed' },
      isError: false,
    });
    expect(JSON.stringify(capsule.fixture.driver.requests)).toContain('plum 2');
  });

  it('cancels, says of a failed task that it completed with an error, and knows no task of others', async () => {
    const capsule = await running({ kind: 'failed', error: 'no model' }, hangs);
    const call = async (): Promise<string> =>
      (await modern(capsule, 'tools/call', { name: 'demo', arguments: { task: 'x' } }))['result'].taskId as string;
    const get = async (taskId: string): Promise<Json> => await modern(capsule, 'tasks/get', { taskId });
    const failed = await call();
    while ((await get(failed))['result'].status === 'working');
    expect((await get(failed))['result']).toMatchObject({ status: 'completed', result: { isError: true } });
    const slow = await call();
    await modern(capsule, 'tasks/cancel', { taskId: slow });
    expect((await get(slow))['result'].status).toBe('cancelled');
    expect((await get('tsk_0'))['error'].code).toBe(-32_602);
    const plain = await modern(capsule, 'tools/call', { name: 'demo', arguments: {} }, {});
    expect(plain['result']).toMatchObject({ isError: true, content: [{ text: 'task must be a string' }] });
  });
});

describe('a resource that is not there', () => {
  const uri = 'svc-file:///nope';
  const told = { message: 'Resource not found, or too large', data: { uri } };

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'gives -32002 to a client of %s',
    async (version) => {
      const capsule = await open();
      const asked = { ...initialize, params: { ...initialize.params, protocolVersion: version } };
      const begun = await post(capsule, asked);
      await begun.text();
      const session = begun.headers.get('mcp-session-id') ?? '';
      const read = { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri } };
      const answer = await messageOf(await post(capsule, read, { 'mcp-session-id': session }));
      expect(answer['error']).toEqual({ code: -32_002, ...told });
    },
  );

  it('gives -32602 to a client of 2026-07-28', async () => {
    const { error } = await modern(await open(), 'resources/read', { uri });
    expect(error).toEqual({ code: -32_602, ...told });
  });
});

describe('a list of resources', () => {
  it('goes on from a cursor that a page has given, and from no other', async () => {
    const capsule = await open();
    const session = { 'mcp-session-id': await begin(capsule) };
    const list = async (cursor: string): Promise<Json> => {
      const params = { cursor };
      const asked = { jsonrpc: '2.0', id: 2, method: 'resources/list', params };
      const [before, now] = [
        await messageOf(await post(capsule, asked, session)),
        await modern(capsule, 'resources/list', params),
      ];
      expect(now['error']).toEqual(before['error']);
      return before;
    };
    for (const cursor of ['!!!!', 'b3V0L2E=', '_w', 'a']) {
      const error = { code: -32_602, message: 'cursor is not one that a list has given' };
      expect(await list(cursor)).toMatchObject({ error });
    }
    expect((await list('b3V0L2E'))['result']).toMatchObject({ resources: [] });
  });
});

describe('the result of a call', () => {
  it('links the files that the task has changed, as every other door names them, also when it is asked for later', async () => {
    const capsule = (await openCapsule({ serve: ['a2a', 'mcp'], turns: [says('one')] })).run();
    capsule.outside.files = ['a b/ü.txt', 'result.txt'];
    const { result: made } = await modern(capsule, 'tools/call', { name: 'demo', arguments: { task: 'x' } });
    const get = async (): Promise<Json> => await modern(capsule, 'tasks/get', { taskId: made.taskId as string });
    while ((await get())['result'].status === 'working');
    // What changes later is of another task.
    capsule.outside.files = ['other.txt'];
    const links = [
      { type: 'resource_link', uri: 'svc-file:///a%20b/%C3%BC.txt', name: 'a b/ü.txt' },
      { type: 'resource_link', uri: 'svc-file:///result.txt', name: 'result.txt' },
    ];
    expect((await get())['result'].result.content).toEqual([{ type: 'text', text: 'one' }, ...links]);
    const { artifacts } = await capsule.result('GetTask', { id: made.taskId });
    expect(artifacts[1].parts.map(({ filename }: Json) => filename as string)).toEqual(['a b/ü.txt', 'result.txt']);
  });
});

describe('the state that a client brings back with an answer', () => {
  it('fails when it was changed, or comes from another principal', async () => {
    const capsule = await running(calls(['ask', {}]), says('Blue.'));
    const forms = { elicitation: { form: {} } };
    const call = { name: 'demo', arguments: { task: 'Paint.' } };
    const asked = (await modern(capsule, 'tools/call', call, forms))['result'] as Json;
    expect(asked).toMatchObject({ resultType: 'input_required' });
    const state = asked['requestState'] as string;
    const inputResponses = { answer: { action: 'accept', content: { answer: 'blue' } } };
    const changed = `${state.slice(0, -2)}${state.endsWith('AA') ? 'BB' : 'AA'}`;
    const refused = await modern(capsule, 'tools/call', { ...call, requestState: changed, inputResponses }, forms);
    expect(refused['error'].code).toBe(-32_602);
    const done = await modern(capsule, 'tools/call', { ...call, requestState: state, inputResponses }, forms);
    expect(done['result']).toMatchObject({ structuredContent: { state: 'completed', text: 'Blue.' } });
    // The same answer again finds the question answered, and the task as it is.
    const again = await modern(capsule, 'tools/call', { ...call, requestState: state, inputResponses }, forms);
    expect(again['result'].structuredContent).toEqual(done['result'].structuredContent);
  });
});
