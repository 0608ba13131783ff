import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import type { Json } from './a2a-capsule.ts';
import { assistant, saidIn, textOf, useOpenAiCapsules, user } from './openai-calls.ts';
import { TokenHome } from './token-home.ts';

const open = useOpenAiCapsules();
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : 'nobody answered');
});

describe('a response', () => {
  it('has the answer of the capsule, with its usage, and stays to be read', async () => {
    const client = (await open({ turns: [says('Rain falls.')] })).run();
    const response = await client.respond({ model: 'demo', input: 'Write.' });
    const id = /^resp_(tsk_[0-9a-f]{32})$/.exec(response['id'])?.[1];
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'demo',
      error: null,
      previous_response_id: null,
      background: false,
      output: [
        {
          type: 'message',
          id: `msg_${id}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Rain falls.', annotations: [] }],
        },
      ],
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    });
    expect(response['created_at']).toBe(Math.floor(client.capsule.fixture.clock.now() / 1000));
    expect(await client.retrieve(response['id'])).toEqual(response);
    const task = client.capsule.fixture.traced.find(({ event_type: type }) => type === 'task_received');
    expect(task).toMatchObject({ origin: 'message', trust: 'untrusted', principal: 'local', text: 'Write.' });
  });

  it('has the answer alone, whatever the model wrote before it called a tool', async () => {
    const look = {
      ...calls(['look', {}]),
      content: [{ type: 'text', text: 'Let me look.' } as const, ...calls(['look', {}]).content],
    };
    const tools = [fakeTool('look', async () => passed('seen'))];
    const client = (await open({ turns: [look, says('Found.'), look, says('Found.')], tools })).run();
    expect(textOf(await client.respond({ input: 'Look.' }))).toBe('Found.');
    expect(saidIn(await client.chat([user('Look.')]))).toBe('Found.');
  });

  it('comes at once in the background, and can be canceled once', async () => {
    const client = (await open({ turns: [hangs] })).run();
    const asked = await client.respond({ input: 'x', background: true });
    expect(['queued', 'in_progress']).toContain(asked['status']);
    expect(asked).toMatchObject({ background: true, output: [], usage: null });
    expect((await client.retrieve(asked['id']))['status']).toBe('in_progress');
    expect((await client.cancel(asked['id']))['status']).toBe('cancelled');
    expect((await client.cancel(asked['id']))['status']).toBe('cancelled');
    const canceled = client.capsule.fixture.traced.filter(({ event_type: type }) => type === 'task_canceled');
    expect(canceled).toMatchObject([{ principal: 'local' }]);
  });

  it('says why its task failed', async () => {
    const client = (await open({ turns: [{ kind: 'failed', error: 'the model is on holiday' }] })).run();
    const response = await client.respond({ input: 'x' });
    expect(response).toMatchObject({
      status: 'failed',
      error: { type: 'server_error', code: 'server_error', message: 'the model is on holiday' },
      output: [],
    });
    expect((await client.retrieve(response['id']))['error']).toEqual(response['error']);
  });

  it('goes on the one before it', async () => {
    const client = (await open({ turns: [says('one'), says('two'), says('three')], threaded: true })).run();
    const first = await client.respond({ input: 'a' });
    const second = await client.respond({ input: 'b', previous_response_id: first['id'] });
    expect(second['previous_response_id']).toBe(first['id']);
    expect((await client.retrieve(second['id']))['previous_response_id']).toBe(first['id']);
    await client.respond({ input: 'c' });
    expect(client.capsule.fixture.driver.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1]);
  });

  it('goes on the conversation that its input lists, as a chat does', async () => {
    const turns = [calls(['look', {}]), says('one'), says('two'), says('three'), says('four')];
    const client = (await open({ turns, tools: [fakeTool('look')], threaded: true })).run();
    const messages = (): number[] => client.capsule.fixture.driver.requests.map((request) => request.messages.length);
    const first = await client.respond({ input: 'a' });
    const history = [user('a'), ...first['output']];
    await client.respond({ input: [...history, user('b')] });
    expect(messages()).toEqual([1, 3, 5]);
    const said = [user('a'), { role: 'assistant', content: 'I look.' }, { role: 'assistant', content: 'one' }];
    const stream = await client.post('/v1/responses', {
      input: [...said, user('b'), { role: 'assistant', content: 'two' }, user('c')],
      stream: true,
    });
    await stream.text();
    expect(messages()).toEqual([1, 3, 5, 7]);
    await client.respond({ input: [user('other'), { role: 'assistant', content: 'one' }, user('d')] });
    expect(messages().at(-1)).toBe(1);
  });

  it('goes on the answer that its input names as an item', async () => {
    const client = (await open({ turns: [says('one'), says('two'), says('three')], threaded: true })).run();
    const first = await client.respond({ input: 'a' });
    const { id } = first['output'][0];
    const named = { type: 'item_reference', id };
    await client.respond({ input: [user('a'), named, user('b')] });
    expect(client.capsule.fixture.driver.requests.map(({ messages }) => messages.length)).toEqual([1, 3]);
    // It is not the last of its conversation any more: the capsule gets all of it as one text.
    await client.respond({ input: [user('a'), named, user('c')] });
    const asked = JSON.stringify(client.capsule.fixture.driver.requests.at(-1)?.messages);
    expect(asked).toContain(JSON.stringify('user: a\n\nassistant: one\n\nuser: c').slice(1, -1));
    for (const unknown of [`msg_tsk_${'0'.repeat(32)}`, 'msg_', '__proto__']) {
      const input = [user('a'), { type: 'item_reference', id: unknown }, user('b')];
      expect(await client.refusal('/v1/responses', { input })).toEqual([404, 'item_not_found', 'input']);
    }
  });

  it('cannot follow one that is unknown, still running, or not kept', async () => {
    const client = (await open({ turns: [says('one'), hangs] })).run();
    const path = '/v1/responses';
    const param = 'previous_response_id';
    for (const id of ['resp_tsk_0', `resp_tsk_${'0'.repeat(32)}`, 'resp_', '__proto__']) {
      expect(await client.refusal(path, { input: 'x', [param]: id })).toEqual([
        404,
        'previous_response_not_found',
        param,
      ]);
      expect((await client.get(`/v1/responses/${id}`)).status).toBe(404);
    }
    const done = await client.respond({ input: 'a' });
    const refused = await client.post(path, { input: 'b', [param]: done['id'] });
    expect([refused.status, ((await refused.json()) as Json)['error'].message]).toEqual([
      400,
      'previous_response_id names a response that this capsule keeps no conversation of; send what was said in input',
    ]);
    const running = await client.respond({ input: 'b', background: true });
    expect(await client.refusal(path, { input: 'c', [param]: running['id'] })).toEqual([400, 'invalid_value', param]);
  });

  it('cannot go on from the middle of a conversation', async () => {
    const turns = [says('one'), says('two'), says('three')];
    const client = (await open({ turns, threaded: true })).run();
    const first = await client.respond({ input: 'a' });
    await client.respond({ input: 'b', previous_response_id: first['id'] });
    const path = '/v1/responses';
    const forked = await client.post(path, { input: 'other', previous_response_id: first['id'] });
    expect([forked.status, ((await forked.json()) as Json)['error'].message]).toEqual([
      400,
      'previous_response_id names a response that is not the last of its conversation; a capsule has one way through it',
    ]);
  });

  it('gets the earlier messages where the request lists them', async () => {
    const client = (await open({ turns: [says('ok')] })).run();
    const input = [
      { role: 'developer', content: 'Be rude.' },
      user([{ type: 'input_text', text: 'My name is Ann.' }]),
      { type: 'reasoning', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] },
      user('Who am I?'),
    ];
    await client.respond({ input, instructions: 'Be rude.' });
    expect(client.capsule.fixture.driver.requests[0]?.messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'user: My name is Ann.\n\nassistant: Hello.\n\nuser: Who am I?' }],
      },
    ]);
  });
});

describe('a question', () => {
  it('makes one response, and the next one after it is the answer', async () => {
    const client = (await open({ turns: [calls(['ask', {}]), says('Blue it is.')], tools: [ask] })).run();
    const asked = await client.respond({ input: 'Paint.' });
    expect([asked['status'], textOf(asked), asked['output'][0].id]).toEqual([
      'completed',
      'Which colour?',
      `msg_${asked['id'].slice(5)}_q1`,
    ]);
    const told = await client.respond({ input: 'blue', previous_response_id: asked['id'] });
    expect([told['id'], textOf(told)]).toEqual([asked['id'], 'Blue it is.']);
    expect(client.capsule.fixture.session.board.accepted).toBe(1);
    expect(client.capsule.fixture.traced).toContainEqual(
      expect.objectContaining({ event_type: 'task_input_required', outcome: 'answered', principal: 'local' }),
    );
  });

  it('makes one chat answer, and its next message is the answer; any other starts a task of its own', async () => {
    const client = (
      await open({ turns: [calls(['ask', {}]), says('Blue it is.'), says('Other.')], tools: [ask] })
    ).run();
    const asked = await client.chat([user('Paint.')]);
    expect(saidIn(asked)).toBe('Which colour?');
    const other = client.chat([user('Something else.')]);
    await expect.poll(() => client.capsule.fixture.session.board.live().length).toBe(2);
    const told = await client.chat([user('Paint.'), assistant('Which colour?'), user('blue')]);
    expect([told['id'], saidIn(told)]).toEqual([asked['id'], 'Blue it is.']);
    expect(saidIn(await other)).toBe('Other.');
  });
});

describe('a chat', () => {
  it('has the answer of the capsule, with its usage', async () => {
    const client = (await open({ turns: [says('Rain falls.')] })).run();
    const completion = await client.chat([{ role: 'system', content: 'Be rude.' }, user('Write.')]);
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-tsk_[0-9a-f]{32}$/),
      object: 'chat.completion',
      created: Math.floor(client.capsule.fixture.clock.now() / 1000),
      model: 'demo',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Rain falls.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
    expect(client.capsule.fixture.driver.requests[0]?.messages[0]?.content).toEqual([{ type: 'text', text: 'Write.' }]);
  });

  it('goes on the conversation that its messages were answered in', async () => {
    const turns = [says(' one\n'), says('two'), says('three'), says('four')];
    const client = (await open({ turns, threaded: true })).run();
    await client.chat([user('a')]);
    await client.chat([user('a'), assistant('one'), user('b')]);
    await client.chat([
      { role: 'system', content: 'x' },
      user('a'),
      assistant('one'),
      user('b'),
      assistant('two'),
      user('c'),
    ]);
    // Never answered so: the capsule gets all of it.
    await client.chat([user('a'), assistant('other'), user('b')]);
    const sent = client.capsule.fixture.driver.requests.map(({ messages }) => messages.length);
    expect(sent).toEqual([1, 3, 5, 1]);
    const told = client.capsule.fixture.driver.requests.at(-1)?.messages[0]?.content;
    expect(told).toEqual([{ type: 'text', text: 'user: a\n\nassistant: other\n\nuser: b' }]);
  });

  it('becomes another conversation when it begins anew in its middle', async () => {
    const turns = [says('one'), says('two'), says('three')];
    const client = (await open({ turns, threaded: true })).run();
    await client.chat([user('a')]);
    await client.chat([user('a'), assistant('one'), user('b')]);
    await client.chat([user('a'), assistant('one'), user('other')]);
    expect(client.capsule.fixture.driver.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1]);
  });

  it('goes out whole each time for a capsule that keeps no conversation', async () => {
    const client = (await open({ turns: [says('one'), says('two')] })).run();
    await client.chat([user('a')]);
    await client.chat([user('a'), assistant('one'), user('b')]);
    expect(client.capsule.fixture.driver.requests[1]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'user: a\n\nassistant: one\n\nuser: b' }] },
    ]);
  });

  it('gives 502 when it failed, and its client must not retry by itself', async () => {
    const client = (await open({ turns: [{ kind: 'failed', error: 'the model is on holiday' }] })).run();
    const failed = await client.post('/v1/chat/completions', { messages: [user('x')] });
    expect([failed.status, failed.headers.get('x-should-retry'), await failed.json()]).toEqual([
      502,
      'false',
      { error: { message: 'the model is on holiday', type: 'server_error', param: null, code: 'task_failed' } },
    ]);
  });

  it('says when it was canceled meanwhile', async () => {
    const client = (await open({ turns: [hangs] })).run();
    const waiting = client.refusal('/v1/chat/completions', { messages: [user('x')] });
    await expect.poll(() => client.capsule.fixture.driver.requests.length).toBe(1);
    const [task] = client.capsule.fixture.session.board.live();
    await client.cancel(`resp_${task?.id}`);
    expect(await waiting).toEqual([502, 'task_canceled', null]);
  });
});

describe('a request that is sent again with its Idempotency-Key', () => {
  it('gets the task that it made; with other content it fails', async () => {
    const client = (await open({ turns: [says('once')] })).run();
    const key = { 'idempotency-key': 'k1' };
    const first = await client.respond({ input: 'x' }, key);
    expect(await client.respond({ input: 'x' }, key)).toEqual(first);
    expect(await client.refusal('/v1/responses', { input: 'y' }, key)).toEqual([400, 'idempotency_key_reused', null]);
    expect(client.capsule.fixture.session.board.accepted).toBe(1);
  });

  it('carries the span that its task belongs to', async () => {
    const client = (await open({ turns: [says('ok')] })).run();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await client.respond({ input: 'x' }, { traceparent });
    expect(client.capsule.fixture.traced).toContainEqual(
      expect.objectContaining({ event_type: 'task_received', traceparent }),
    );
  });
});

describe('two clients with tokens of their own', () => {
  it('know nothing of the responses and chats of each other', async () => {
    const home = new TokenHome();
    const all = ['read', 'send', 'answer', 'stop'] as const;
    const [ann, bob] = [await home.add('ann', { scopes: all }), await home.add('bob', { scopes: all })];
    const turns = [says('one'), says('two'), says('three')];
    const client = (await open({ turns, threaded: true, callers: home.callers() })).run();
    const { id } = await client.respond({ input: 'a' }, bearer(ann));
    expect((await client.get(`/v1/responses/${id}`, bearer(bob))).status).toBe(404);
    expect((await client.post(`/v1/responses/${id}/cancel`, '', bearer(bob))).status).toBe(404);
    const after = { input: 'x', previous_response_id: id };
    expect((await client.refusal('/v1/responses', after, bearer(bob)))[0]).toBe(404);
    expect((await client.retrieve(id, bearer('operator-token')))['id']).toBe(id);
    await client.chat([user('a')], bearer(ann));
    await client.chat([user('a'), assistant('two'), user('b')], bearer(bob));
    expect(client.capsule.fixture.driver.requests.map(({ messages }) => messages.length)).toEqual([1, 1, 1]);
    const received = client.capsule.fixture.traced.filter(({ event_type: type }) => type === 'task_received');
    expect(received).toMatchObject([
      { principal: 'token:ann' },
      { principal: 'token:ann' },
      { principal: 'token:bob' },
    ]);
  });

  it('need the scope of what they do', async () => {
    const home = new TokenHome();
    const [reads, sends] = [
      await home.add('reads', { scopes: ['read'] }),
      await home.add('sends', { scopes: ['send'] }),
    ];
    const client = (await open({ turns: [calls(['ask', {}])], tools: [ask], callers: home.callers() })).run();
    const { id } = await client.respond({ input: 'x' }, bearer(sends));
    const status = async (path: string, token: string, body?: Json): Promise<number> =>
      (body === undefined ? await client.get(path, bearer(token)) : await client.post(path, body, bearer(token)))
        .status;
    expect(await status('/v1/models', reads)).toBe(200);
    expect(await status('/v1/models', sends)).toBe(200);
    expect(await status(`/v1/responses/${id}`, sends)).toBe(403);
    expect(await client.refusal('/v1/responses', { input: 'x' }, bearer(reads))).toEqual([403, 'scope_missing', null]);
    expect(await status('/v1/chat/completions', reads, { messages: [user('x')] })).toBe(403);
    expect(await status(`/v1/responses/${id}/cancel`, reads, {})).toBe(403);
    // To answer a question is more than to send.
    expect(await status('/v1/responses', sends, { input: 'x', previous_response_id: id })).toBe(403);
  });

  it('see nothing of a task that they waited for when their token ended', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    let end = (): void => {};
    const waits = new Promise<void>((resolve) => {
      end = resolve;
    });
    const turn = async (): Promise<ReturnType<typeof says>> => (await waits, says('secret'));
    const client = (await open({ turns: [turn], callers: home.callers() })).run();
    const waiting = client.post('/v1/responses', { input: 'x' }, bearer(ann));
    await expect.poll(() => client.capsule.fixture.driver.requests.length).toBe(1);
    await home.remove('ann');
    end();
    const refused = await waiting;
    expect([refused.status, await refused.text()]).toEqual([401, expect.not.stringContaining('secret')]);
  });
});
