import { once } from 'node:events';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { calls, hangs, says, type Turn } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { TaskRecords } from '@svc/session/task-records.ts';
import { type Json, reopenOnce } from './a2a-capsule.ts';
import { assistant, eventsOf, saidIn, type SentEvent, textOf, useOpenAiCapsules, user } from './openai-calls.ts';
import { Speaker } from './speaker.ts';
import { TokenHome } from './token-home.ts';

const open = useOpenAiCapsules();

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : 'nobody answered');
});

/** A turn that says something and then calls a tool. */
function saysAndCalls(text: string, tool: string): Turn {
  return async (_request, call) => {
    call.onText(text);
    const { content, ...rest } = calls([tool, {}]);
    return { ...rest, content: [{ type: 'text', text }, ...content] };
  };
}

/** In short, for expectations: the end of the name, and what it says. */
function lines(events: readonly SentEvent[]): string[] {
  return events.map(({ data }) => {
    if (typeof data === 'string') return data;
    const type = (data['type'] as string).replace(/^response\./, '');
    if (type === 'output_text.delta') return `${data['output_index']} +${data['delta']}`;
    if (type === 'output_text.done') return `${data['output_index']} =${data['text']}`;
    const { response } = data;
    return response === undefined ? type : `${type} ${response.status} ${textOf(response)}`.trim();
  });
}

/** The object that an event brings, counted from the end. */
function dataAt(events: readonly SentEvent[], index: number): Json {
  const data = events.at(index)?.data;
  if (typeof data !== 'object') throw new Error('there is no such event');
  return data;
}

/** What the chunks of a chat say, and how it ends. */
function chatLines(events: readonly SentEvent[]): string[] {
  return events.map(({ data }) => {
    if (typeof data === 'string') return data;
    if (data['error'] !== undefined) return `error ${data['error'].code} ${data['error'].message}`;
    const [choice] = data['choices'] as Json[];
    if (choice === undefined) return `usage ${data['usage'].total_tokens}`;
    return choice['finish_reason'] ?? `+${choice['delta'].content}`;
  });
}

const item = ['output_item.added', 'content_part.added'];
const itemEnd = ['content_part.done', 'output_item.done'];

describe('the stream of a response', () => {
  it('has each event under its name, numbered from 0, and ends behind the whole response', async () => {
    const speaker = new Speaker();
    const client = (await open({ turns: [speaker.turn] })).run();
    const streaming = client.stream('/v1/responses', { input: 'Write.' });
    await speaker.say('rain');
    await speaker.end();
    const events = await streaming;
    expect(lines(events)).toEqual([
      'created queued',
      'in_progress in_progress',
      ...item,
      '0 +rain',
      '0 =rain',
      ...itemEnd,
      'completed completed rain',
    ]);
    for (const [at, { event, data }] of events.entries()) {
      expect(data).toMatchObject({ type: event, sequence_number: at });
    }
    const { response } = dataAt(events, -1);
    expect(await client.retrieve(response.id)).toEqual(response);
  });

  it('has a message for each turn that speaks, and the answer alone at its end', async () => {
    const other = new Speaker();
    const looks = saysAndCalls('Let me look.', 'look');
    const tools = [fakeTool('look', async () => passed('seen'))];
    const client = (await open({ turns: [looks, other.turn], tools })).run();
    const streaming = client.stream('/v1/responses', { input: 'Look.' });
    await other.say('Found.');
    await other.end();
    const events = await streaming;
    expect(lines(events).slice(2)).toEqual([
      ...item,
      '0 +Let me look.',
      '0 =Let me look.',
      ...itemEnd,
      ...item,
      '1 +Found.',
      '1 =Found.',
      ...itemEnd,
      'completed completed Found.',
    ]);
    const ids = events.flatMap(({ data }) => (typeof data === 'string' ? [] : [data['item_id'] as string]));
    const { response } = dataAt(events, -1);
    expect(response.output[0].id).toBe(ids.findLast((id) => id !== undefined));
  });

  it('has the whole answer where no chunk of it came', async () => {
    const client = (await open({ turns: [says('Rain falls.'), says('')] })).run();
    expect(lines(await client.stream('/v1/responses', { input: 'x' })).slice(2)).toEqual([
      ...item,
      '0 +Rain falls.',
      '0 =Rain falls.',
      ...itemEnd,
      'completed completed Rain falls.',
    ]);
    expect(lines(await client.stream('/v1/responses', { input: 'x' })).slice(2)).toEqual([
      ...item,
      '0 =',
      ...itemEnd,
      'completed completed',
    ]);
  });

  it('ends with a question, and the stream of its answer says nothing twice', async () => {
    const client = (await open({ turns: [saysAndCalls('Hm.', 'ask'), says('Blue it is.')], tools: [ask] })).run();
    const asked = await client.stream('/v1/responses', { input: 'Paint.' });
    expect(lines(asked).slice(2)).toEqual([
      ...item,
      '0 +Hm.',
      '0 =Hm.',
      ...itemEnd,
      ...item,
      '1 +Which colour?',
      '1 =Which colour?',
      ...itemEnd,
      'completed completed Which colour?',
    ]);
    const { response } = dataAt(asked, -1);
    const told = await client.stream('/v1/responses', { input: 'blue', previous_response_id: response.id });
    expect(lines(told)).toEqual([
      'created in_progress',
      'in_progress in_progress',
      ...item,
      '0 +Blue it is.',
      '0 =Blue it is.',
      ...itemEnd,
      'completed completed Blue it is.',
    ]);
  });

  it('says that its task failed, was canceled or broke, with what was said until then', async () => {
    const speaker = new Speaker();
    const fails = { kind: 'failed', error: 'the model is on holiday' } as const;
    const client = (await open({ turns: [fails, speaker.turn] })).run();
    const failed = await client.stream('/v1/responses', { input: 'x' });
    expect(lines(failed)).toEqual(['created queued', 'in_progress in_progress', 'failed failed']);
    expect(dataAt(failed, -1)['response'].error.message).toBe('the model is on holiday');
    const streaming = client.stream('/v1/responses', { input: 'y' });
    await speaker.say('rain');
    const [task] = client.capsule.fixture.session.board.live();
    await client.cancel(`resp_${task?.id}`);
    const canceled = await streaming;
    expect(lines(canceled).slice(-4)).toEqual(['0 =rain', ...itemEnd, 'failed cancelled']);
    expect(dataAt(canceled, -2)['item'].status).toBe('incomplete');
  });

  it('says nothing of an end before the hooks have spoken', async () => {
    const client = (await open({ turns: [says('first'), says('second')], hooks: reopenOnce() })).run();
    const events = lines(await client.stream('/v1/responses', { input: 'x' }));
    expect(events.filter((line) => /^\d \+/.test(line))).toEqual(['0 +first', '1 +second']);
    expect(events.filter((line) => line.startsWith('completed'))).toEqual(['completed completed second']);
  });

  it('repeats what was said so far to a second copy of the request, and then the rest', async () => {
    const speaker = new Speaker();
    const client = (await open({ turns: [speaker.turn] })).run();
    const key = { 'idempotency-key': 'k' };
    const first = client.stream('/v1/responses', { input: 'x' }, key);
    await speaker.say('rain ');
    const again = await client.post('/v1/responses', { input: 'x', stream: true }, key);
    await speaker.say('falls');
    await speaker.end();
    const deltas = lines(eventsOf(await again.text())).filter((line) => line.startsWith('0 +'));
    expect(deltas.map((line) => line.slice(3)).join('')).toBe('rain falls');
    expect(lines(await first).at(-1)).toBe('completed completed rain falls');
    expect(client.capsule.fixture.session.board.accepted).toBe(1);
  });
});

describe('the stream of a chat', () => {
  it('has chunks, what was used where it is asked for, and [DONE]', async () => {
    const speaker = new Speaker();
    const client = (await open({ turns: [speaker.turn, says('Again.')] })).run();
    const path = '/v1/chat/completions';
    const streaming = client.stream(path, { messages: [user('x')], stream_options: { include_usage: true } });
    await speaker.say('rain ');
    await speaker.say('falls');
    await speaker.end();
    const said = chatLines(await streaming);
    expect([said[0], ...said.slice(-3)]).toEqual(['+', 'stop', 'usage 15', '[DONE]']);
    expect(
      said
        .slice(1, -3)
        .map((line) => line.slice(1))
        .join(''),
    ).toBe('rain falls');
    expect(chatLines(await client.stream(path, { messages: [user('y')] }))).toEqual(['+', '+Again.', 'stop', '[DONE]']);
  });

  it('parts what turns say, and is gone on from by what it said', async () => {
    const looks = saysAndCalls('Let me look.', 'look');
    const tools = [fakeTool('look', async () => passed('seen'))];
    const client = (await open({ turns: [looks, says('Found.'), says('ok')], tools, threaded: true })).run();
    const said = chatLines(await client.stream('/v1/chat/completions', { messages: [user('Look.')] }));
    expect(said).toEqual(['+', '+Let me look.', '+\n\nFound.', 'stop', '[DONE]']);
    const next = await client.chat([user('Look.'), assistant('Let me look.\n\nFound.'), user('b')]);
    expect(saidIn(next)).toBe('ok');
    expect(client.capsule.fixture.driver.requests.at(-1)?.messages.length).toBe(5);
  });

  it('says in its middle that its task failed', async () => {
    const fails: Turn = async (_request, call) => {
      call.onText('rain');
      return { kind: 'failed', error: 'the model is on holiday' };
    };
    const client = (await open({ turns: [fails] })).run();
    expect(chatLines(await client.stream('/v1/chat/completions', { messages: [user('x')] }))).toEqual([
      '+',
      '+rain',
      'error task_failed the model is on holiday',
    ]);
  });
});

describe('the streams of a client', () => {
  it('number 256 at the most, over all doors: the next fails before anything is done', async () => {
    const client = (await open({ turns: [hangs], serve: ['openai', 'a2a'] })).run();
    const key = { 'idempotency-key': 'k' };
    const body = { input: 'x', stream: true };
    const streams = await Promise.all(Array.from({ length: 256 }, () => client.post('/v1/responses', body, key)));
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    const refused = await client.post('/v1/responses', { input: 'y', stream: true });
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      429,
      '5',
      { error: { type: 'rate_limit_error', code: 'too_many_streams' } },
    ]);
    expect(client.capsule.fixture.session.board.live()).toHaveLength(1);
  });

  it('end when they stay more than 1 MiB behind, and nobody else notices', async () => {
    const speaker = new Speaker();
    const client = (await open({ turns: [speaker.turn] })).run();
    const body = { messages: [user('x')], stream: true };
    const response = await client.post('/v1/chat/completions', body, { 'idempotency-key': 'k' });
    const reader = response.body!.getReader();
    const deaf = await client.deaf('/v1/chat/completions', body, 'idempotency-key: k');
    let read = 0;
    // What the system and a connection hold of a reader that takes nothing is some megabytes.
    for (let said = 1; said <= 48; said += 1) {
      await speaker.say('x'.repeat(512 * 1024));
      while (read < said * 512 * 1024) read += (await reader.read()).value?.length ?? Infinity;
    }
    await speaker.end();
    let end = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      end = (end + Buffer.from(part.value).toString()).slice(-100);
    }
    expect(end).toContain('data: [DONE]');
    let taken = 0;
    deaf.on('data', (bytes: Buffer) => {
      taken += bytes.length;
    });
    deaf.resume();
    await once(deaf, 'close');
    expect(taken).toBeLessThan(24 * 1024 * 1024);
    expect(client.capsule.fixture.session.board.accepted).toBe(1);
  });

  it('go on when one of them leaves, and so does the task', async () => {
    const speaker = new Speaker();
    const client = (await open({ turns: [speaker.turn] })).run();
    const follow = vi.spyOn(TaskRecords.prototype, 'follow');
    onTestFinished(() => follow.mockRestore());
    const abort = new AbortController();
    const leaving = await fetch(`${client.capsule.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'x', stream: true }),
      signal: abort.signal,
    });
    await leaving.body?.getReader().read();
    const [task] = client.capsule.fixture.session.board.live();
    abort.abort();
    // Nobody follows it any more, so svc keeps nothing for it.
    await expect.poll(() => follow.mock.calls[0]?.[0].followers.size).toBe(0);
    await speaker.say('rain');
    await speaker.end();
    await expect.poll(async () => (await client.retrieve(`resp_${task?.id}`))['status']).toBe('completed');
  });

  it('have a comment every 4 seconds', async () => {
    const client = (await open({ turns: [hangs] })).run();
    const socket = await client.deaf('/v1/chat/completions', { messages: [user('x')], stream: true });
    socket.resume();
    let seen = '';
    socket.on('data', (bytes: Buffer) => {
      seen += bytes.toString();
    });
    while (!seen.includes('"role":"assistant"')) await once(socket, 'data');
    client.capsule.fixture.clock.advance(4000);
    while (!seen.includes('\n\n:\n\n')) await once(socket, 'data');
    expect(seen).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('end within 5 seconds of the end of a token', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    const client = (await open({ turns: [hangs], callers: home.callers() })).run();
    const response = await client.post(
      '/v1/responses',
      { input: 'x', stream: true },
      { authorization: `Bearer ${ann}` },
    );
    await home.remove('ann');
    const end = await response.text().catch(() => 'cut');
    expect(end).not.toContain('response.completed');
    expect(home.maxWaitMs).toBeLessThan(5000);
  });
});
