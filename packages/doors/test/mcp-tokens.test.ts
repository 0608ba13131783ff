import { afterEach, describe, expect, it } from 'vitest';

import type { Client } from '@modelcontextprotocol/client';
import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import type { Scope } from '../src/callers/scopes.ts';
import { type A2aCapsule, type A2aOptions, type Json, useA2aCapsules } from './a2a-capsule.ts';
import { connectMcp, type ClientChoice, revisions } from './mcp-client.ts';
import { TokenHome } from './token-home.ts';

const openCapsule = useA2aCapsules();
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : answer.kind);
});

async function open(home: TokenHome, options: A2aOptions): Promise<A2aCapsule> {
  return (await openCapsule({ serve: ['mcp'], tools: [ask], callers: home.callers(), ...options })).run();
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

async function connect(capsule: A2aCapsule, token: string, choice: ClientChoice): Promise<Client> {
  const client = await connectMcp(capsule, { ...choice, headers: bearer(token) });
  clients.push(client);
  return client;
}

const accept = 'application/json, text/event-stream';

/** The status of a request of the newest revision for the list of tools. */
async function statusOf(capsule: A2aCapsule, token: string): Promise<number> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = { accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list', ...bearer(token) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
  const response = await capsule.post(body, headers, '/mcp');
  await response.body?.cancel();
  return response.status;
}

describe('a token at /mcp', () => {
  it.each(revisions)('gives tasks of its own in revision %s, which no other may answer', async (revision) => {
    const home = new TokenHome();
    const all: readonly Scope[] = ['read', 'send', 'answer'];
    const [ann, bob] = [await home.add('ann', { scopes: all }), await home.add('bob', { scopes: all })];
    const capsule = await open(home, { turns: [calls(['ask', {}]), says('Blue.')] });
    const [annes, bobs] = [await connect(capsule, ann, { revision }), await connect(capsule, bob, { revision })];
    const asked = await annes.callTool({ name: 'demo', arguments: { task: 'Paint.' } });
    const { task_id } = asked.structuredContent as { task_id: string };
    const stolen = await bobs.callTool({ name: 'demo', arguments: { task: 'red', task_id } });
    expect([stolen.isError, (stolen.content as Json[])[0]?.['text']]).toEqual([
      true,
      expect.stringMatching(/^there is no task/),
    ]);
    const done = await annes.callTool({ name: 'demo', arguments: { task: 'blue', task_id } });
    expect(done.structuredContent).toMatchObject({ state: 'completed', text: 'Blue.' });
    expect(capsule.fixture.session.board.find(task_id)?.sender?.principal).toBe('token:ann');
  });

  it.each(revisions)('without answer gets no form in revision %s, but the question', async (revision) => {
    const home = new TokenHome();
    const token = await home.add('one', { scopes: ['send', 'read'] });
    const capsule = await open(home, { turns: [calls(['ask', {}]), says('never')] });
    const client = await connect(capsule, token, { revision, answer: () => 'blue' });
    const asked = await client.callTool({ name: 'demo', arguments: { task: 'Paint.' } });
    expect(asked.structuredContent).toMatchObject({ state: 'input-required', text: 'Which colour?' });
  });

  it('cancels as itself', async () => {
    const home = new TokenHome();
    const token = await home.add('one', { scopes: ['send'] });
    const capsule = await open(home, { turns: [hangs] });
    const client = await connect(capsule, token, { revision: '2025-11-25' });
    const stop = new AbortController();
    const call = client
      .callTool({ name: 'demo', arguments: { task: 'x' } }, { signal: stop.signal })
      .catch(() => 'taken back');
    const { board } = capsule.fixture.session;
    while (board.current()?.state !== 'working') await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    expect(await call).toBe('taken back');
    while ([...board.known()][0]?.hasSettled !== true) await new Promise((resolve) => setImmediate(resolve));
    expect(capsule.fixture.traced.find(({ event_type: type }) => type === 'task_canceled')).toMatchObject({
      principal: 'token:one',
    });
  });

  it('loses its streams when it is removed, and gets 401', async () => {
    const home = new TokenHome();
    const token = await home.add('one', { scopes: ['send', 'read'] });
    const capsule = await open(home, { turns: [hangs] });
    const client = await connect(capsule, token, { revision: '2025-11-25' });
    const session = { 'mcp-session-id': client.transport?.sessionId ?? '', accept, ...bearer(token) };
    const call = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'demo', arguments: { task: 'x' } } };
    const streamed = await capsule.post(JSON.stringify(call), session, '/mcp');
    const { board } = capsule.fixture.session;
    while (board.current()?.state !== 'working') await new Promise((resolve) => setImmediate(resolve));
    await home.remove('one');
    const read = streamed.text().then(
      (text) => text,
      () => '',
    );
    expect(await read).not.toContain('data: {');
    expect(await statusOf(capsule, token)).toBe(401);
    // In this revision a connection that is lost takes nothing back.
    expect(board.current()?.state).toBe('working');
  });

  it.each<[string, readonly Scope[]]>([
    ['the same', ['read', 'send', 'answer']],
    ['fewer', ['send']],
  ])('loses its session to another one of its name with %s scopes, and nothing runs there', async (_what, after) => {
    const home = new TokenHome();
    const before = await home.add('one', { scopes: ['read', 'send', 'answer'] });
    const capsule = await open(home, { turns: [says('One.'), says('Two.')] });
    const call = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'demo', arguments: { task: 'x' } } };
    const ask = async (token: string, id: string): Promise<[number, string]> => {
      const headers = { 'mcp-session-id': id, accept, ...bearer(token) };
      const response = await capsule.post(JSON.stringify(call), headers, '/mcp');
      return [response.status, await response.text()];
    };
    const id = (await connect(capsule, before, { revision: '2025-11-25' })).transport?.sessionId ?? '';
    expect(await ask(before, id)).toEqual([200, expect.stringContaining('One.')]);
    await home.remove('one');
    const replaced = await home.add('one', { scopes: after });
    const gone = [404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'];
    expect([await ask(replaced, id), await ask(replaced, id)]).toEqual([gone, gone]);
    const { board } = capsule.fixture.session;
    expect(board.accepted).toBe(1);
    const anew = (await connect(capsule, replaced, { revision: '2025-11-25' })).transport?.sessionId ?? '';
    expect(await ask(replaced, anew)).toEqual([200, expect.stringContaining('Two.')]);
    expect(board.accepted).toBe(2);
  });
});
