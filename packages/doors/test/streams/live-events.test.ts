import { describe, expect, it } from 'vitest';

import { decodeFrame } from '@svc/protocol/decode-frame.ts';
import { decodeLiveEvent } from '@svc/protocol/decode-live-event.ts';
import { FrameReader } from '@svc/protocol/frame-reader.ts';
import { calls, hangs, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import { ack, callBytes, canary, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';
import type { StreamReader } from './stream-reader.ts';

const openDoor = useStreamDoors();
const opted = ['svc-events: 1'];
const userTask = { text: 'Paint the door.', origin: 'user', trust: 'trusted' } as const;

interface Seen {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** The frames of a body, without heartbeats. */
function framesOf(body: string): string[] {
  return body.split(/(?<=\n\n)/).filter((frame) => !frame.startsWith(':'));
}

const specified = /^event: (connection-ack|status|artifact|text|thinking|gap|capsule-closed)$/m;

/** What of a body the specification knows. */
function specifiedOf(body: string): string {
  return framesOf(body)
    .filter((frame) => specified.test(frame))
    .join('');
}

function seenIn(reader: StreamReader): Seen[] {
  return framesOf(reader.body).map((frame) => ({
    event: /^event: (.*)$/m.exec(frame)?.[1] ?? '',
    data: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null') as Record<string, unknown>,
  }));
}

/** The data of the one event of this kind. */
function dataOf(reader: StreamReader, event: string): Record<string, unknown> | undefined {
  const [only, ...more] = seenIn(reader).filter((seen) => seen.event === event);
  expect(more).toEqual([]);
  return only?.data;
}

/** How often anybody has begun and ceased to listen to the activity since. */
function countListeners({ fixture }: StreamDoor): { now: number; ever: number } {
  const count = { now: 0, ever: 0 };
  const subscribe = fixture.activity.subscribe.bind(fixture.activity);
  fixture.activity.subscribe = (listener) => {
    count.now += 1;
    count.ever += 1;
    const leave = subscribe(listener);
    return () => {
      count.now -= 1;
      leave();
    };
  };
  return count;
}

const look = fakeTool('look', async () => passed('green'));
const ask = fakeTool('ask', async (_args, { requestInput }) => {
  const answer = await requestInput(`Which colour, ${canary}?`);
  return passed(answer.kind === 'answered' ? answer.text : answer.kind);
});
const painting: readonly Turn[] = [
  async (_request, call) => {
    call.onText('I look ');
    call.onRetryWait?.({ waitMs: 500, attempt: 1, of: 2 }, { reason: `429 for ${canary}`, status: 429 });
    call.onRetry?.(`429 for ${canary}`);
    return calls(['look', { at: `the door with ${canary}` }]);
  },
  calls(['ask', {}]),
  says('Done.'),
];

/** A session that asks a question on the way, which is answered, on two connections to its end. */
async function painted(door: StreamDoor): Promise<{ plain: StreamReader; more: StreamReader }> {
  const plain = await door.watch();
  const more = await door.watch(opted);
  void door.fixture.session.run();
  const { task } = door.fixture.session.board.submit({ ...userTask, text: `Paint, ${canary}.` });
  await more.until('event: question\n');
  const text = `blue, not ${canary}`;
  const answer = await door.call('tasks/answer', { id: task.id, wait: 'q1', text }, opted);
  await answer.until('"state":"working"');
  await more.until('event: task_settled\n');
  await plain.until('"state":"completed"');
  return { plain, more };
}

describe('a connection that asks for events', () => {
  it('gets each in its place among the frames, and every frame as a connection that does not ask', async () => {
    const door = await openDoor({ turns: painting, tools: [look, ask] });
    const { plain, more } = await painted(door);
    expect(specifiedOf(more.body)).toBe(plain.body);
    expect(plain.body.startsWith(ack)).toBe(true);
    expect(seenIn(more).map(({ event }) => event)).toEqual([
      'connection-ack',
      'snapshot',
      'task_received',
      'task_started',
      'status',
      'waiting_for_model',
      'text',
      'retry',
      'text',
      'usage',
      'call_start',
      'artifact',
      'call_end',
      'status',
      'waiting_for_model',
      'usage',
      'call_start',
      'status',
      'question',
      'status',
      'question_settled',
      'artifact',
      'call_end',
      'status',
      'waiting_for_model',
      'usage',
      'text',
      'status',
      'task_settled',
    ]);
    expect(more.ids.filter((id) => id !== '-')).toEqual(plain.ids.filter((id) => id !== '-'));
  });

  it('learns from the head of the answer that it gets them, and no other connection does', async () => {
    const door = await openDoor();
    const plain = await door.watch();
    const more = await door.watch(opted);
    const own = 'svc-events: 1\r\n';
    expect(more.head).toContain(own);
    const undated = (head: string): string => head.replace(/^date: .*\r\n/im, '');
    expect(undated(more.head.replace(own, ''))).toBe(undated(plain.head));
  });

  it('finds no secret of the session in any event', async () => {
    const door = await openDoor({ turns: painting, tools: [look, ask] });
    const { more } = await painted(door);
    const events = framesOf(more.body).filter((frame) => !specified.test(frame));
    expect(events.join('')).not.toContain(canary);
    const first = seenIn(more).find(({ event }) => event === 'call_start');
    expect(first?.data).toEqual({
      task_id: expect.stringMatching(/^tsk_[0-9a-f]{32}$/),
      turn: 1,
      call_id: 'call_1',
      tool_name: 'look',
      arguments: { at: 'the door with [secret]' },
    });
    expect(dataOf(more, 'task_received')).toMatchObject({ text: 'Paint, [secret].', text_cut: false, queued: 0 });
    expect(dataOf(more, 'retry')).toMatchObject({ turn: 1, reason: '429 for [secret]' });
    expect(dataOf(more, 'question')).toMatchObject({ wait_id: 'q1', prompt: 'Which colour, [secret]?' });
    expect(dataOf(more, 'question_settled')).toMatchObject({
      wait_id: 'q1',
      end: 'answered',
      answer: 'blue, not [secret]',
    });
  });

  it('sees what a task has used, and what the session has', async () => {
    const door = await openDoor({ turns: painting, tools: [look, ask] });
    const { more } = await painted(door);
    const usages = seenIn(more).filter(({ event }) => event === 'usage');
    expect(
      usages.map(({ data }) => [data['turn'], data['input_tokens'], data['output_tokens'], data['total']]),
    ).toEqual([
      [1, 10, 5, { input_tokens: 10, output_tokens: 5 }],
      [2, 10, 5, { input_tokens: 20, output_tokens: 10 }],
      [3, 10, 5, { input_tokens: 30, output_tokens: 15 }],
    ]);
    expect(dataOf(more, 'task_settled')).toEqual({
      task_id: expect.any(String),
      state: 'completed',
      reason: null,
      turns: 3,
      usage: { input_tokens: 30, output_tokens: 15 },
      duration_ms: 0,
    });
    const later = await door.watch(opted);
    expect(dataOf(await later.until('event: snapshot\n'), 'snapshot')).toEqual({
      session_id: 'ses_00000000000000000000000000000001',
      name: 'demo',
      version: '1.2.3',
      model: 'm',
      containment: 'sealed',
      methods: ['tasks/answer', 'tasks/command', 'approvals/list', 'approvals/answer'],
      usage: { input_tokens: 30, output_tokens: 15 },
      tasks: [],
      tasks_left_out: 0,
    });
  });

  it('begins with the tasks that have not ended, what each was given and what one of them asks', async () => {
    const door = await openDoor({ turns: painting, tools: [look, ask], acceptance: { queueDepth: 200 } });
    const plain = await door.watch();
    void door.fixture.session.run();
    const { board } = door.fixture.session;
    board.submit({ ...userTask, text: `Paint, ${canary}.` });
    await plain.until('"state":"input-required"');
    board.submit({ text: 'Sweep.', origin: 'peer', trust: 'untrusted' });
    const long = `${'d'.repeat(195)}${'😀'.repeat(10)}`;
    for (let more = 0; more < 129; more += 1) board.submit({ ...userTask, text: long });
    const reader = await door.watch(opted);
    await reader.until('event: snapshot\n');
    const snapshot = dataOf(reader, 'snapshot');
    const tasks = snapshot?.['tasks'] as Record<string, unknown>[];
    expect(tasks).toHaveLength(100);
    expect(snapshot?.['tasks_left_out']).toBe(31);
    expect(tasks[0]).toEqual({
      task_id: board.current()?.id,
      context_id: board.current()?.contextId,
      state: 'input-required',
      origin: 'user',
      text: 'Paint, [secret].',
      question: { wait_id: 'q1', prompt: 'Which colour, [secret]?' },
    });
    expect(tasks[1]).toMatchObject({ state: 'submitted', origin: 'peer', question: null, text: 'Sweep.' });
    expect(tasks[2]).toMatchObject({ state: 'submitted', origin: 'user', text: `${'d'.repeat(195)}😀😀` });
    expect(specifiedOf(reader.body)).toBe(plain.body.replace(/id: 0\n[^]*?\n\n/, ''));
  });

  it('sees how many come before a task, and why one failed', async () => {
    const turns: readonly Turn[] = [{ kind: 'failed', error: `the provider knows ${canary}` }, hangs];
    const door = await openDoor({ turns, acceptance: { queueDepth: 5 } });
    const more = await door.watch(opted);
    const { board } = door.fixture.session;
    board.submit(userTask);
    board.submit({ text: 'A child ended.', origin: 'completion', trust: 'untrusted' });
    board.submit({ ...userTask, sender: { principal: 'local', tags: {} }, origin: 'message', trust: 'untrusted' });
    void door.fixture.session.run();
    await more.until('event: task_settled\n');
    const received = seenIn(more).filter(({ event }) => event === 'task_received');
    expect(received.map(({ data }) => [data['origin'], data['principal'], data['queued']])).toEqual([
      ['user', null, 0],
      ['completion', null, 1],
      ['message', 'local', 1],
    ]);
    expect(dataOf(more, 'task_settled')).toMatchObject({ state: 'failed', reason: 'the provider knows [secret]' });
  });

  it('gets the same id for a call in both kinds, whatever its provider called it', async () => {
    const ids = ['c'.repeat(1024), 'é'.repeat(1024), 'c'.repeat(1025), 'c'.repeat(4096)];
    const named: Turn = {
      ...calls(),
      content: ids.map((id) => ({ type: 'tool_call', id, name: 'look', input: {} })),
    };
    const door = await openDoor({ turns: [named, says('Done.')], tools: [look] });
    const more = await door.watch(opted);
    void door.fixture.session.run();
    door.fixture.session.board.submit(userTask);
    await more.until('event: task_settled\n');
    const read = [...new FrameReader().read(Buffer.from(framesOf(more.body).join('')))];
    const ofFrames = read.map(decodeFrame).flatMap((frame) => (frame?.event === 'artifact' ? [frame.toolCallId] : []));
    const ofEvents = (event: string): unknown[] =>
      read.map(decodeLiveEvent).flatMap((live) => (live?.event === event && 'callId' in live ? [live.callId] : []));
    expect(ofFrames).toEqual([ids[0], ids[1], null, null]);
    expect(ofEvents('call_start')).toEqual(ofFrames);
    expect(ofEvents('call_end')).toEqual(ofFrames);
  });

  it('sees a call that a hook refused, which has no frame', async () => {
    const door = await openDoor({
      turns: [calls(['look', {}]), says('Done.')],
      tools: [look],
      hooks: { judgeCall: async () => ({ kind: 'deny', reason: `not with ${canary}` }) },
    });
    const more = await door.watch(opted);
    void door.fixture.session.run();
    door.fixture.session.board.submit(userTask);
    await more.until('event: task_settled\n');
    expect(dataOf(more, 'refusal')).toMatchObject({
      what: 'look',
      reason: expect.stringContaining('not with [secret]'),
    });
    expect(dataOf(more, 'call_end')).toMatchObject({
      tool_name: 'look',
      denied: true,
      is_error: true,
      exit_code: null,
    });
    expect(more.body).not.toContain('event: artifact');
  });
});

describe('the texts of an event', () => {
  it('end at their bound: a task at 64 KiB, arguments at 16 KiB as their JSON, and no secret is cut in two', async () => {
    const turns: readonly Turn[] = [
      calls(['look', { text: 'a'.repeat(16_365) + canary }]),
      calls(['look', nested(450)]),
      says(''),
    ];
    const door = await openDoor({ turns, tools: [look] });
    const more = await door.watch(opted);
    void door.fixture.session.run();
    door.fixture.session.board.submit({ ...userTask, text: `${'é'.repeat(32_765)}${canary}${'x'.repeat(5_000_000)}` });
    await more.until('event: task_settled\n');
    const received = dataOf(more, 'task_received');
    expect(received?.['text']).toBe(`${'é'.repeat(32_765)}[secre`);
    expect(received?.['text_cut']).toBe(true);
    const [long, deep] = seenIn(more).filter(({ event }) => event === 'call_start');
    expect(long?.data['arguments']).toBeUndefined();
    expect(long?.data['arguments_text']).toBe(`{"text":"${'a'.repeat(16_365)}[secret`);
    expect(deep?.data['arguments_text']).toBe(JSON.stringify(nested(450)));
  });

  it('end before what may be the rest of a secret that was cut off unread', async () => {
    const secret = canary.repeat(60_000);
    const door = await openDoor({ turns: [hangs] });
    const more = await door.watch(opted);
    door.fixture.session.board.submit({ ...userTask, text: secret });
    await more.until('event: task_received\n');
    expect(String(dataOf(more, 'task_received')?.['text'])).toMatch(/^(\[secret\])*\[?s?e?c?r?e?t?$/);
  });
});

/** Lists in lists. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return { value };
}

describe('a header that asks for nothing known', () => {
  it.each([
    ['a later version', ['svc-events: 2']],
    ['no version', ['svc-events:']],
    ['a list', ['svc-events: 1, 2']],
    ['twice the same', ['svc-events: 1', 'svc-events: 1']],
    ['other spellings of one', ['svc-events: 01']],
    ['a word', ['svc-events: true']],
  ])('changes nothing: %s', async (_, headers) => {
    const door = await openDoor({ turns: painting, tools: [look, ask] });
    const listeners = countListeners(door);
    const reader = await door.watch(headers);
    const plain = await door.watch();
    expect(reader.head).not.toContain('svc-events');
    void door.fixture.session.run();
    const { task } = door.fixture.session.board.submit(userTask);
    await plain.until('"state":"input-required"');
    const answer = await door.call('tasks/answer', { id: task.id, wait: 'q1', text: 'blue' }, headers);
    await answer.until('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}');
    door.fixture.session.board.answerInput({ text: 'blue' });
    await plain.until('"state":"completed"');
    await reader.until('"state":"completed"');
    expect(reader.body).toBe(plain.body);
    expect(listeners.ever).toBe(0);
  });

  it('changes stream/watch alone', async () => {
    const door = await openDoor({ turns: [says('Done.')] });
    const stream = await door.submit(opted);
    void door.fixture.session.run();
    await stream.untilClosed();
    expect(stream.head).not.toContain('svc-events');
    expect(specifiedOf(stream.body)).toBe(stream.body);
  });
});

describe('one of 100 connections', () => {
  it('costs the others no byte when it asks for events, and nothing once it has gone', async () => {
    const door = await openDoor({ turns: painting, tools: [look, ask] });
    const listeners = countListeners(door);
    const plain: StreamReader[] = [];
    for (let reader = 0; reader < 99; reader += 1) plain.push(await door.watch());
    expect(listeners.ever).toBe(0);
    const more = await door.watch(opted);
    expect(listeners).toEqual({ now: 1, ever: 1 });
    void door.fixture.session.run();
    const { task } = door.fixture.session.board.submit(userTask);
    await more.until('event: question\n');
    more.reset();
    while (listeners.now > 0) await new Promise(setImmediate);
    door.fixture.session.board.answer({ taskId: task.id, waitId: 'q1' }, { text: 'blue' });
    for (const reader of plain) await reader.until('"state":"completed"');
    const [first] = plain;
    for (const reader of plain) expect(reader.body).toBe(first?.body);
    expect(first?.body).toBe(specifiedOf(first?.body ?? ''));
  });
});

describe('a reader of events that does not read', () => {
  const fill = 'x'.repeat(16 * 1024 * 1024);

  it('loses the oldest of both kinds beyond 128, in order, and learns from a snapshot where the session stands', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 200 } });
    const plain = await door.watch();
    const normal = await door.watch(opted);
    const stalled = await door.watch(opted);
    stalled.socket.pause();
    door.text(1n, fill);
    await normal.until('x"');
    await plain.until('x"');
    const { board } = door.fixture.session;
    for (let id = 2n; id <= 101n; id += 1n) {
      door.text(id);
      board.submit({ ...userTask, text: `task ${id}` });
    }
    await normal.until('"text":"task 101"');
    stalled.socket.resume();
    await stalled.until('"text":"task 101"');
    const expected = Array.from({ length: 64 }, (_, index) => [`${38 + index}`, `task ${38 + index}`]).flat();
    expect(
      seenIn(stalled)
        .slice(3)
        .map(({ data }) => data['text']),
    ).toEqual(expected);
    expect(plain.ids).toEqual(['-', ...Array.from({ length: 101 }, (_, index) => `${index + 1}`)]);
    const again = await door.watch([...opted, 'Last-Event-ID: 100']);
    await again.until(textBytes(101));
    expect(seenIn(again).map(({ event }) => event)).toEqual(['connection-ack', 'snapshot', 'text']);
    expect(dataOf(again, 'snapshot')?.['tasks']).toHaveLength(100);
  });
});

describe('tasks/answer', () => {
  it('answers the question it names and no other, once', async () => {
    const twice = fakeTool('twice', async (_args, { requestInput }) => {
      const [one, two] = [await requestInput('One?'), await requestInput('Two?')];
      return passed([one, two].map((each) => (each.kind === 'answered' ? each.text : each.kind)).join(' '));
    });
    const door = await openDoor({ turns: [calls(['twice', {}]), says('Done.')], tools: [twice] });
    const more = await door.watch(opted);
    void door.fixture.session.run();
    const { board } = door.fixture.session;
    const { id } = board.submit(userTask).task;
    await more.until('"wait_id":"q1"');
    const answered = async (params: unknown): Promise<string> =>
      (await (await door.call('tasks/answer', params, opted)).until('}}')).body;
    const closed = `{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"Question not open: ${id} does not wait for this answer"}}`;
    const taken = `{"jsonrpc":"2.0","id":1,"result":{"id":"${id}","contextId":"${board.current()?.contextId}","status":{"state":"working"}}}`;
    expect(await answered({ id, wait: 'q2', text: 'early' })).toBe(closed);
    expect(await answered({ id, wait: 'q1', text: 'first' })).toBe(taken);
    await more.until('"wait_id":"q2"');
    expect(await answered({ id, wait: 'q1', text: 'first' })).toBe(closed);
    expect(await answered({ id, wait: 'q2', text: 'second' })).toBe(taken);
    await more.until('event: task_settled\n');
    expect(await answered({ id, wait: 'q2', text: 'late' })).toBe(closed);
    expect(more.body).toContain('first second');
    expect(board.accepted).toBe(1);
  });

  it('leaves the question open to a message of who names answers, which is a task', async () => {
    const door = await openDoor({ turns: [calls(['ask', {}]), says('Done.'), says('Swept.')], tools: [ask] });
    const more = await door.watch(opted);
    void door.fixture.session.run();
    const { board } = door.fixture.session;
    const { id } = board.submit(userTask).task;
    await more.until('"wait_id":"q1"');
    const params = { message: { messageId: '1', role: 'user', parts: [{ text: 'Sweep.' }] } };
    const sent = JSON.parse((await (await door.call('message/send', params, opted)).until('}}')).body) as {
      readonly result: { readonly id: string; readonly status: object };
    };
    expect(sent.result.status).toEqual({ state: 'submitted' });
    expect(sent.result.id).not.toBe(id);
    expect(board.find(id)?.inputWait?.question.waitId).toBe('q1');
    await (await door.call('message/send', params)).until('"state":"working"');
    await more.until('Swept.');
    expect(board.accepted).toBe(2);
  });

  it.each([
    [{ id: 'tsk_1', wait: 'q1', text: 'a' }, '{"code":-32001,"message":"Task not found: tsk_1"}'],
    [{ id: 'tsk_1', wait: 'q1' }, '{"code":-32602,"message":"Invalid params: text must be a string"}'],
    [{ wait: 'q1', text: 'a' }, '{"code":-32602,"message":"Invalid params: id must be a string"}'],
    [[], '{"code":-32602,"message":"Invalid params: params must be an object"}'],
  ])('refuses %j', async (params, error) => {
    const door = await openDoor();
    const answer = await door.call('tasks/answer', params, opted);
    expect((await answer.until('}}')).body).toBe(`{"jsonrpc":"2.0","id":1,"error":${error}}`);
  });

  it('needs a header that asks for what is beyond the specification', async () => {
    const door = await openDoor();
    const reader = await door.connect();
    reader.send(callBytes('tasks/answer', { id: 'tsk_1', wait: 'q1', text: 'a' }));
    expect((await reader.until('}}')).body).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
    );
  });
});
