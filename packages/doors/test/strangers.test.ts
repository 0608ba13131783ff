import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, type A2aOptions, type Json, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { TokenHome } from './token-home.ts';

const openCapsule = useA2aCapsules();
const scopes = ['read', 'send', 'answer', 'stop'] as const;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** A capsule with two clients. The second knows everything that the first has seen except its token. */
async function shared(options: A2aOptions): Promise<{ capsule: A2aCapsule; ann: string; bob: string }> {
  const home = new TokenHome();
  const [ann, bob] = [await home.add('ann', { scopes }), await home.add('bob', { scopes })];
  const capsule = await openCapsule({ serve: ['a2a', 'mcp', 'openai'], callers: home.callers(), ...options });
  return { capsule: capsule.run(), ann, bob };
}

describe('a key that another client has used', () => {
  it('stands for no task of that client, at any door', async () => {
    const turns = Array.from({ length: 6 }, (_, at) => says(`${at}`));
    const { capsule, ann, bob } = await shared({ turns });
    const rpc = (method: string, params: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const own = { message: { messageId: 'm', role: 'user', parts: [{ text: 'x' }] } };
    const asked: readonly [path: string, body: string, id: (answer: Json) => string][] = [
      ['/', rpc('message/send', own), ({ result }) => result.id as string],
      ['/a2a', rpc('SendMessage', userMessage('x')), ({ result }) => result.task.id as string],
      ['/v1/responses', JSON.stringify({ input: 'x' }), ({ id }) => id as string],
    ];
    for (const [path, body, idOf] of asked) {
      const ids = [];
      for (const token of [ann, bob, ann]) {
        const headers = { 'idempotency-key': `key-of${path}`, ...bearer(token) };
        ids.push(idOf((await (await capsule.post(body, headers, path)).json()) as Json));
      }
      expect([path, ids[2] === ids[0], ids[1] === ids[0]]).toEqual([path, true, false]);
    }
    expect(capsule.fixture.session.board.accepted).toBe(6);
  });
});

const accept = 'application/json, text/event-stream';
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

describe('a session of another client of MCP', () => {
  const begin = async (capsule: A2aCapsule, token: string): Promise<Response> =>
    await capsule.post(JSON.stringify(initialize), { accept, ...bearer(token) }, '/mcp');

  it('does not exist, whatever another client asks of it', async () => {
    const { capsule, ann, bob } = await shared({ turns: [] });
    const id = (await begin(capsule, ann)).headers.get('mcp-session-id') ?? '';
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    const statuses = async (token: string): Promise<number[]> => {
      const headers = { accept, 'mcp-session-id': id, ...bearer(token) };
      const posted = await capsule.post(ping, headers, '/mcp');
      await posted.text();
      const got = await fetch(`${capsule.url}/mcp`, { headers: { ...headers, accept: 'text/event-stream' } });
      await got.body?.cancel();
      const deleted = await fetch(`${capsule.url}/mcp`, { method: 'DELETE', headers });
      await deleted.text();
      return [posted.status, got.status, deleted.status];
    };
    expect(await statuses(bob)).toEqual([404, 404, 404]);
    expect(await statuses(ann)).toEqual([200, 200, 200]);
  });

  it('gives way to none of a client that has 64 of its own', async () => {
    const { capsule, ann, bob } = await shared({ turns: [] });
    const session = (await begin(capsule, ann)).headers.get('mcp-session-id') ?? '';
    const streams = [];
    for (let made = 0; made < 64; made += 1) {
      const id = (await begin(capsule, bob)).headers.get('mcp-session-id') ?? '';
      const headers = { accept: 'text/event-stream', 'mcp-session-id': id, ...bearer(bob) };
      streams.push(await fetch(`${capsule.url}/mcp`, { headers }));
    }
    const refused = await begin(capsule, bob);
    expect([refused.status, await refused.json()]).toEqual([
      429,
      expect.objectContaining({ error: 'too_many_sessions' }),
    ]);
    await streams[0]?.body?.cancel();
    await expect.poll(async () => (await begin(capsule, bob)).status).toBe(200);
    expect((await begin(capsule, ann)).status).toBe(200);
    const ping = await capsule.post(
      JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' }),
      { accept, 'mcp-session-id': session, ...bearer(ann) },
      '/mcp',
    );
    expect(ping.status).toBe(200);
    for (const stream of streams.slice(1)) await stream.body?.cancel();
  });
});

describe('the question to another client', () => {
  it('takes no answer from this one', async () => {
    const ask = fakeTool('ask', async (_args, context) => {
      const answer = await context.requestInput('Which colour?');
      return passed(answer.kind === 'answered' ? answer.text : answer.kind);
    });
    const { capsule, ann, bob } = await shared({ turns: [calls(['ask', {}]), says('Blue.')], tools: [ask] });
    const call = async (token: string, more: Json): Promise<Json> => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      };
      const params = { name: 'demo', arguments: { task: 'Paint.' }, ...more, _meta };
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'demo' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
      const text = await (await capsule.post(body, { accept, ...headers, ...bearer(token) }, '/mcp')).text();
      return JSON.parse(
        text
          .split('\n')
          .findLast((line) => line.startsWith('data: {'))
          ?.slice(6) ?? text,
      ) as Json;
    };
    const { requestState } = (await call(ann, {}))['result'] as Json;
    const inputResponses = { answer: { action: 'accept', content: { answer: 'red' } } };
    const stolen = (await call(bob, { requestState, inputResponses }))['result'] as Json;
    expect([stolen['isError'], stolen['content'][0].text]).toEqual([true, expect.stringMatching(/^there is no task/)]);
    const done = (await call(ann, { requestState, inputResponses }))['result'] as Json;
    expect(done['structuredContent']).toMatchObject({ state: 'completed', text: 'Blue.' });
  });
});
