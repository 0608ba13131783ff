import { describe, expect, it } from 'vitest';

import { calls, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, type A2aOptions, type Json, useA2aCapsules } from './a2a-capsule.ts';

const openCapsule = useA2aCapsules();
const open = async (options: A2aOptions = {}): Promise<A2aCapsule> => await openCapsule({ serve: ['mcp'], ...options });

const both = 'application/json, text/event-stream';
const stream = /^text\/event-stream/;
const json = /^application\/json/;
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-name': '' };

async function post(capsule: A2aCapsule, body: Json, headers: Record<string, string>): Promise<Response> {
  return await capsule.post(JSON.stringify({ jsonrpc: '2.0', id: 2, ...body }), headers, '/mcp');
}

async function messageOf(response: Response): Promise<Json> {
  const text = await response.text();
  const line = stream.test(response.headers.get('content-type') ?? '') ? /^data: (.*)$/m.exec(text)?.[1] : text;
  return JSON.parse(line ?? '') as Json;
}

/** The headers of a session in which the client takes what `accept` says. */
async function begin(capsule: A2aCapsule, accept: string, capabilities: Json = {}): Promise<Record<string, string>> {
  const params = { ...initialize.params, capabilities };
  const response = await post(capsule, { ...initialize, params }, { accept });
  expect((await messageOf(response))['result'].serverInfo.name).toBe('demo');
  return { accept, 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' };
}

describe('a client', () => {
  it.each([
    [both, json],
    ['*/*', json],
    ['text/event-stream', stream],
  ])('gets a file as JSON where it accepts that, %s', async (accept, type) => {
    const capsule = await open();
    const headers = await begin(capsule, accept);
    const read = { method: 'resources/read', params: { uri: 'svc-file:///none' } };
    const old = await post(capsule, read, headers);
    const params = { ...read.params, _meta: modernMeta };
    const modern = { accept, ...modernHeaders, 'mcp-method': 'resources/read', 'mcp-name': 'svc-file:///none' };
    const now = await post(capsule, { ...read, params }, modern);
    for (const response of [old, now]) {
      expect(response.headers.get('content-type')).toMatch(type);
      expect(await messageOf(response)).toMatchObject({
        id: 2,
        error: { message: expect.stringContaining('Resource not found') },
      });
    }
  });

  it.each([
    ['*/*', stream],
    ['text/event-stream', stream],
    ['application/json', json],
    ['APPLICATION/JSON, TEXT/EVENT-STREAM', stream],
    [both, stream],
    ['Application/Json; q=0.5, text/*; q=0', json],
    ['text/html, application/*', json],
    ['text/html, */*;q=0.1', stream],
  ])('gets an answer in a form that it accepts, %s, in both manners of the protocol', async (accept, type) => {
    const capsule = await open();
    const headers = await begin(capsule, accept);
    const old = await post(capsule, { method: 'tools/list' }, headers);
    const params = { _meta: modernMeta };
    const now = await post(
      capsule,
      { method: 'tools/list', params },
      { accept, ...modernHeaders, 'mcp-method': 'tools/list' },
    );
    for (const response of [old, now]) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringMatching(type)]);
      expect(await messageOf(response)).toMatchObject({ id: 2, result: { tools: [{ name: 'demo' }] } });
    }
  });

  it.each([
    ['POST', 'text/html'],
    ['POST', 'application/json;q=0, text/event-stream;q=0.0'],
    ['GET', 'application/json'],
  ])('gets 406 in words for %s where it accepts %s', async (method, accept) => {
    const capsule = await open();
    const headers = { accept, 'content-type': 'application/json' };
    const body = method === 'GET' ? {} : { body: JSON.stringify(initialize) };
    const response = await fetch(`${capsule.url}/mcp`, { method, headers, ...body });
    expect(response.status).toBe(406);
    expect(((await response.json()) as Json)['error'].message).toBe(
      'Accept must allow application/json or text/event-stream, and the latter for GET',
    );
  });

  it('gets a question as the result of its call when it takes JSON alone', async () => {
    const ask = fakeTool('ask', async (_args, context) => {
      const answer = await context.requestInput('Which colour?');
      return passed(answer.kind === 'answered' ? answer.text : answer.kind);
    });
    const capsule = (await open({ turns: [calls(['ask', {}]), says('Plum.')], tools: [ask] })).run();
    const headers = await begin(capsule, 'application/json', { elicitation: {} });
    const call = async (given: Json): Promise<Json> => {
      const params = { name: 'demo', arguments: given, _meta: { progressToken: 'p' } };
      const response = await post(capsule, { method: 'tools/call', params }, headers);
      expect(response.headers.get('content-type')).toMatch(json);
      return (await messageOf(response))['result'].structuredContent as Json;
    };
    const asked = await call({ task: 'Paint.' });
    expect(asked).toMatchObject({ state: 'input-required', text: 'Which colour?' });
    expect(await call({ task: 'plum', task_id: asked['task_id'] as string })).toMatchObject({
      state: 'completed',
      text: 'Plum.',
    });
  });

  it('learns that the session ended before its call did when it takes JSON alone', async () => {
    const capsule = await open();
    const headers = await begin(capsule, 'application/json');
    const waiting = post(
      capsule,
      { method: 'tools/call', params: { name: 'demo', arguments: { task: 'x' } } },
      headers,
    );
    while (capsule.fixture.session.board.known()[Symbol.iterator]().next().done === true)
      await new Promise((resolve) => setImmediate(resolve));
    const deleted = await fetch(`${capsule.url}/mcp`, { method: 'DELETE', headers });
    expect(deleted.status).toBe(200);
    expect((await messageOf(await waiting))['error'].message).toBe('the session ended before there was an answer');
  });
});

describe('a request', () => {
  it('gets an empty list of templates of resources', async () => {
    const capsule = await open();
    const headers = await begin(capsule, both);
    const { result } = await messageOf(await post(capsule, { method: 'resources/templates/list' }, headers));
    expect(result).toEqual({ resourceTemplates: [] });
  });

  it.each([
    ['tools/call', {}, 'params.name is missing'],
    ['tools/call', undefined, 'params is missing'],
    [
      'tools/call',
      { name: 5, arguments: 'x' },
      'params.name: expected string, received number; params.arguments: expected record, received string',
    ],
    ['resources/read', {}, 'params.uri is missing'],
    ['resources/list', { cursor: 5 }, 'params.cursor: expected string, received number'],
  ])('fails in words: %s with %j', async (method, params, words) => {
    const capsule = await open();
    const headers = await begin(capsule, both);
    const { error } = await messageOf(await post(capsule, { method, params }, headers));
    expect(error).toEqual({ code: -32_602, message: `Invalid params: ${words}` });
  });
});
