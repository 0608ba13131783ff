import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { postBytes, RawSocket } from '../../../test/support/raw-socket.ts';
import type { Json } from './a2a-capsule.ts';
import { assistant, saidIn, textOf, useOpenAiCapsules, user } from './openai-calls.ts';

const open = useOpenAiCapsules();
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

describe('the models', () => {
  it('list the capsule', async () => {
    const client = await open();
    const model = { id: 'demo', object: 'model', created: expect.any(Number), owned_by: 'svc' };
    expect(await (await client.get('/v1/models')).json()).toEqual({ object: 'list', data: [model] });
    expect(await (await client.get('/v1/models/demo')).json()).toEqual(model);
    const unknown = await client.get('/v1/models/gpt-4o');
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      {
        error: {
          message: 'There is no such model; this capsule is demo.',
          type: 'invalid_request_error',
          param: null,
          code: 'model_not_found',
        },
      },
    ]);
  });
});

describe('a response that is asked for', () => {
  it('arrives whole, and not as events that resume', async () => {
    const client = (await open({ turns: [says('rain')] })).run();
    const { id } = await client.respond({ input: 'x' });
    const refusal = async (query: string): Promise<unknown> => {
      const response = await client.get(`/v1/responses/${id}${query}`);
      const { error } = (await response.json()) as Json;
      return [response.status, error?.code, error?.param];
    };
    const refused = [400, 'unsupported_parameter'];
    expect(await refusal('?stream=true&starting_after=3')).toEqual([...refused, 'stream']);
    expect(await refusal('?stream=1')).toEqual([...refused, 'stream']);
    expect(await refusal('?starting_after=3')).toEqual([...refused, 'starting_after']);
    expect(await refusal('?stream=false&include[]=reasoning.encrypted_content')).toEqual([200, undefined, undefined]);
  });
});

describe('a path below /v1/', () => {
  it.each([
    ['POST', '/v1/models', 405, 'GET, HEAD'],
    ['PUT', '/v1/responses/resp_tsk_1', 405, 'GET, POST, HEAD'],
    ['DELETE', '/v1/responses/resp_tsk_1', 405, 'GET, POST, HEAD'],
    ['GET', '/v1/responses', 405, 'POST'],
    ['GET', '/v1/chat/completions', 405, 'POST'],
    ['GET', '/v1/responses/resp_tsk_1/cancel', 404, null],
    ['GET', '/v1/', 404, null],
    ['GET', '/v1/embeddings', 404, null],
    ['GET', '/v1/models/demo/x', 404, null],
    ['GET', '/v1/responses/resp_tsk_1/input_items', 404, null],
    ['POST', '/v1/chat/completions/x', 404, null],
    ['POST', '/v1/constructor', 404, null],
    ['GET', '/v1', 404, null],
    ['GET', '/v1/responses/..%2f..', 404, null],
    ['GET', '/v1/responses/', 404, null],
    ['POST', '/v1/responses/resp_tsk_1', 404, null],
    ['POST', '/v1/responses/resp_tsk_1/cancel/x', 404, null],
  ])('gets its own error: %s %s is %i', async (method, path, status, allow) => {
    const client = await open();
    const response = await fetch(`${client.capsule.url}${path}`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
    expect((await response.json()) as Json).toMatchObject({ error: expect.anything() });
  });

  it('answers HEAD as GET, without a body', async () => {
    const client = await open();
    const response = await fetch(`${client.capsule.url}/v1/models`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('does not exist where the manifest closes the door', async () => {
    const client = await open({ serve: ['a2a'] });
    expect((await client.get('/v1/models')).status).toBe(404);
  });

  it('takes no request of a web page, of another host or of a foreign token', async () => {
    const client = await open({ token: 'secret' });
    const status = async (headers: readonly string[]): Promise<string> => {
      const socket = await RawSocket.open(client.capsule.port);
      socket.send(`GET /v1/models HTTP/1.1\r\n${[...headers, 'connection: close'].join('\r\n')}\r\n\r\n`);
      return (await socket.untilClosed()).slice(9, 12);
    };
    const token = 'authorization: Bearer secret';
    expect(await status(['host: localhost', token])).toBe('200');
    expect(await status(['host: localhost', token, 'origin: https://example.com'])).toBe('403');
    expect(await status(['host: example.com', token])).toBe('421');
    expect(await status(['host: localhost'])).toBe('401');
    expect(await status(['host: localhost', 'authorization: Bearer other'])).toBe('401');
  });
});

describe('a body', () => {
  it.each([
    ['no JSON', '{', 400, 'invalid_json'],
    ['nothing', '', 400, 'invalid_json'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'invalid_json'],
    ['a list', '[]', 400, null],
    ['a text', '"x"', 400, null],
    ['lists within lists', JSON.stringify({ input: 'x', deep: nested(64) }), 400, 'invalid_json'],
    ['many values', JSON.stringify({ input: 'x', deep: Array.from({ length: 40_000 }, () => 1) }), 400, 'invalid_json'],
  ])('fails: %s', async (_what, body, status, code) => {
    const client = await open();
    for (const path of ['/v1/responses', '/v1/chat/completions']) {
      expect((await client.refusal(path, body)).slice(0, 2)).toEqual([status, code]);
    }
    expect(client.capsule.fixture.session.board.accepted).toBe(0);
  });

  it('must be JSON, of 10 MiB at most', async () => {
    const client = await open();
    const typed = await client.post('/v1/responses', '{}', { 'content-type': 'application/x-www-form-urlencoded' });
    expect(typed.status).toBe(415);
    const socket = await RawSocket.open(client.capsule.port);
    const head = ['POST /v1/responses HTTP/1.1', 'host: localhost', 'content-type: application/json'];
    socket.send(`${[...head, `content-length: ${10 * 1024 * 1024 + 1}`].join('\r\n')}\r\n\r\n`);
    expect((await socket.untilClosed()).slice(9, 12)).toBe('413');
  });

  it('with megabytes counts as one request like any other', async () => {
    const client = (await open({ turns: [says('Read.')] })).run();
    const input = `${'word '.repeat(600_000)}end`;
    expect(textOf(await client.respond({ input }))).toBe('Read.');
    expect(client.capsule.fixture.driver.requests[0]?.messages[0]?.content).toEqual([{ type: 'text', text: input }]);
  });
});

describe('a field that is wrong', () => {
  const wrong = 'invalid_value';
  const unsupported = 'unsupported_parameter';

  it.each([
    [{}, wrong, 'input'],
    [{ input: null }, wrong, 'input'],
    [{ input: '' }, wrong, 'input'],
    [{ input: 7 }, wrong, 'input'],
    [{ input: '\ud800' }, wrong, 'input'],
    [{ input: [] }, wrong, 'input'],
    [{ input: [7] }, wrong, 'input[0]'],
    [{ input: [assistant('x')] }, wrong, 'input'],
    [{ input: [{ role: 'root', content: 'x' }] }, wrong, 'input[0].role'],
    [{ input: [{ role: 'toString', content: 'x' }] }, wrong, 'input[0].role'],
    [{ input: [user(7)] }, wrong, 'input[0].content'],
    [{ input: [user(null)] }, wrong, 'input[0].content'],
    [{ input: [user([])] }, wrong, 'input[0].content'],
    [{ input: [user(['x'])] }, wrong, 'input[0].content[0]'],
    [{ input: [user([{ type: 'input_text' }])] }, wrong, 'input[0].content[0].text'],
    [{ input: [user([{ type: 'input_image', image_url: 'x' }])] }, unsupported, 'input[0].content[0].type'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, wrong, 'input'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, unsupported, 'input[0].type'],
    [{ input: 'x', stream: 'yes' }, wrong, 'stream'],
    [{ input: 'x', background: 1 }, wrong, 'background'],
    [{ input: 'x', tools: [{ type: 'web_search' }] }, unsupported, 'tools'],
    [{ input: 'x', tools: {} }, unsupported, 'tools'],
    [{ input: 'x', text: 'json' }, wrong, 'text'],
    [{ input: 'x', text: { format: { type: 'json_schema' } } }, unsupported, 'text.format'],
    [{ input: 'x', conversation: 'conv_1' }, unsupported, 'conversation'],
    [{ input: 'x', prompt: { id: 'p' } }, unsupported, 'prompt'],
    [{ input: 'x', previous_response_id: 7 }, wrong, 'previous_response_id'],
    [{ input: 'x', previous_response_id: 'x'.repeat(257) }, wrong, 'previous_response_id'],
  ])('has its name in the error for a response: %j', async (body, code, param) => {
    const client = await open();
    expect(await client.refusal('/v1/responses', { model: 'demo', ...body })).toEqual([400, code, param]);
    expect(client.capsule.fixture.session.board.accepted).toBe(0);
  });

  it.each([
    [{}, wrong, 'messages'],
    [{ messages: 'x' }, wrong, 'messages'],
    [{ messages: [] }, wrong, 'messages'],
    [{ messages: [{ role: 'system', content: 'x' }] }, wrong, 'messages'],
    [{ messages: [user('x'), assistant('y')] }, wrong, 'messages'],
    [{ messages: [user('')] }, wrong, 'messages'],
    [{ messages: [user('\udc00')] }, wrong, 'messages[0].content'],
    [
      { messages: [user([{ type: 'image_url', image_url: { url: 'x' } }])] },
      unsupported,
      'messages[0].content[0].type',
    ],
    [{ messages: [user([{ type: 'input_audio' }])] }, unsupported, 'messages[0].content[0].type'],
    [{ messages: [user('x')], n: 2 }, unsupported, 'n'],
    [{ messages: [user('x')], tools: [{ type: 'function' }] }, unsupported, 'tools'],
    [{ messages: [user('x')], functions: [{ name: 'f' }] }, unsupported, 'functions'],
    [{ messages: [user('x')], audio: { voice: 'x' } }, unsupported, 'audio'],
    [{ messages: [user('x')], modalities: ['text', 'audio'] }, unsupported, 'modalities'],
    [{ messages: [user('x')], response_format: { type: 'json_object' } }, unsupported, 'response_format'],
    [{ messages: [user('x')], stream_options: 7 }, wrong, 'stream_options'],
  ])('has its name in the error for a chat: %j', async (body, code, param) => {
    const client = await open();
    expect(await client.refusal('/v1/chat/completions', { model: 'demo', ...body })).toEqual([400, code, param]);
    expect(client.capsule.fixture.session.board.accepted).toBe(0);
  });

  it('may be the name of another model, which is not here', async () => {
    const client = await open();
    const body = { model: 'gpt-4o', input: 'x', messages: [user('x')] };
    for (const path of ['/v1/responses', '/v1/chat/completions']) {
      expect(await client.refusal(path, body)).toEqual([404, 'model_not_found', 'model']);
    }
  });

  it('passes where it is null, empty, unknown or for the sampling of a model', async () => {
    const client = (await open({ turns: [says('one'), says('two')] })).run();
    const ignored = { temperature: 2, top_p: 0, max_tokens: 1, stop: ['x'], seed: 7, tools: [], n: null, unknown: {} };
    const nulls = { stream: null, background: null, previous_response_id: null, conversation: null, text: null };
    expect(textOf(await client.respond({ ...ignored, ...nulls, input: 'x', store: false, include: [] }))).toBe('one');
    const chat = { ...ignored, n: 1, response_format: { type: 'text' }, modalities: ['text'], messages: [user('x')] };
    const answered = (await (await client.post('/v1/chat/completions', chat)).json()) as Json;
    expect(saidIn(answered)).toBe('two');
  });

  it('may be an Idempotency-Key that no header could carry', async () => {
    const client = await open();
    expect(await client.refusal('/v1/responses', { input: 'x' }, { 'idempotency-key': 'a b' })).toEqual([
      400,
      'invalid_idempotency_key',
      null,
    ]);
  });
});

describe('a capsule that has no room', () => {
  it('says when to ask again, and keeps nothing', async () => {
    const client = (await open({ turns: [hangs], acceptance: { queueDepth: 0 } })).run();
    await client.respond({ input: 'first', background: true });
    for (const stream of [false, true]) {
      const refused = await client.post('/v1/responses', { input: 'second', stream });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
      expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'queue_full' } });
    }
    expect(client.capsule.fixture.session.board.live()).toHaveLength(1);
  });
});

it('a request behind another one on its connection has its answer behind that one', async () => {
  const client = await open();
  const socket = await RawSocket.open(client.capsule.port);
  const bad = postBytes('{', []).replace('POST / ', 'POST /v1/responses ');
  socket.send(`${bad}GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  const received = await socket.untilClosed();
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
});
