import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, context, count, optional, session, task, text } from '../test/both-ways.ts';
import { decodeLiveEvent } from './decode-live-event.ts';
import { FrameReader } from './frame-reader.ts';
import { encodeLiveEvent, type LiveEvent } from './live-events.ts';

function decoded(written: string): LiveEvent | null | undefined {
  const [received] = new FrameReader().read(Buffer.from(written));
  expect(received?.id).toBeUndefined();
  return received === undefined ? undefined : decodeLiveEvent(received);
}

const usage = fc.record({ inputTokens: count, outputTokens: count });
const wait = { waitId: text, prompt: text };
const ofTurn = { taskId: task, turn: count };
const ofCall = { ...ofTurn, callId: optional, toolName: text };
/** What is read of `-0` is 0. */
const json = fc.jsonValue({ maxDepth: 3 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

const events: fc.Arbitrary<LiveEvent> = fc.oneof(
  fc.record({
    event: fc.constant('snapshot' as const),
    sessionId: session,
    name: text,
    version: text,
    model: text,
    containment: fc.constantFrom('advisory', 'scoped', 'sealed'),
    methods: fc.array(text, { maxLength: 3 }),
    usage,
    tasks: fc.array(
      fc
        .record({
          taskId: task,
          contextId: context,
          state: fc.constantFrom('submitted', 'working', 'input-required'),
          origin: text,
          text,
          question: fc.option(fc.record(wait)),
        })
        .map((each) =>
          Object.assign(each, { question: each.question && Object.assign(each.question, { taskId: each.taskId }) }),
        ),
      { maxLength: 3 },
    ),
    tasksLeftOut: count,
    skills: fc.array(text, { maxLength: 3 }),
  }),
  fc.record({
    event: fc.constant('task_received' as const),
    taskId: task,
    contextId: context,
    origin: fc.constantFrom('user', 'message', 'peer', 'completion'),
    principal: optional,
    text,
    textCut: fc.boolean(),
    queued: count,
  }),
  fc.record({ event: fc.constant('task_started' as const), taskId: task, attempt: count }),
  fc.record({ event: fc.constant('waiting_for_model' as const), ...ofTurn }),
  fc.record({
    event: fc.constant('retry' as const),
    ...ofTurn,
    reason: text,
    wait: fc.option(fc.record({ status: fc.option(count), waitMs: count, attempt: count, of: count })),
  }),
  fc.record({
    event: fc.constant('usage' as const),
    ...ofTurn,
    model: text,
    inputTokens: count,
    outputTokens: count,
    durationMs: count,
    total: usage,
  }),
  fc.record({
    event: fc.constant('call_start' as const),
    ...ofCall,
    arguments: json,
    argumentsText: fc.constant(null),
  }),
  fc.record({
    event: fc.constant('call_start' as const),
    ...ofCall,
    arguments: fc.constant(null),
    argumentsText: text,
  }),
  fc.record({ event: fc.constant('output' as const), ...ofCall, text, leftOut: count }),
  fc.record({
    event: fc.constant('call_end' as const),
    ...ofCall,
    exitCode: fc.option(fc.integer()),
    isError: fc.boolean(),
    denied: fc.boolean(),
    durationMs: count,
    step: fc.option(count),
  }),
  fc.record({ event: fc.constant('refusal' as const), taskId: task, what: text, reason: text }),
  fc.record({ event: fc.constant('question' as const), taskId: task, ...wait }),
  fc.record({
    event: fc.constant('question_settled' as const),
    taskId: task,
    waitId: text,
    end: fc.constantFrom('answered', 'timed-out', 'canceled'),
    answer: optional,
  }),
  fc.record({
    event: fc.constant('task_settled' as const),
    taskId: task,
    state: fc.constantFrom('completed', 'failed', 'canceled'),
    reason: optional,
    turns: count,
    usage,
    durationMs: count,
  }),
);

describe('a live event', () => {
  it('says what was written', () => {
    expect.hasAssertions();
    bothWays(events, (event) => decoded(encodeLiveEvent(event)));
  });

  const none = { inputTokens: 0, outputTokens: 0 };

  it.each([
    ['event: later\ndata: {"task_id":"t"}\n\n', null],
    ['event: task_started\ndata: {}\n\n', null],
    ['event: task_started\ndata: {"task_id":5}\n\n', null],
    ['event: task_started\ndata: [1]\n\n', null],
    ['event: task_started\ndata: {"task_id":"t"\n\n', null],
    [`event: task_started\ndata: {"task_id":"${'t'.repeat(1025)}"}\n\n`, null],
    [
      'event: task_started\ndata: {"task_id":"t","attempt":-1,"later":{}}\n\n',
      { event: 'task_started', taskId: 't', attempt: 0 },
    ],
    ['event: question\ndata: {"task_id":"t","prompt":"p"}\n\n', null],
    ['event: question_settled\ndata: {"task_id":"t","end":"answered"}\n\n', null],
    [
      'event: question_settled\ndata: {"task_id":"t","wait_id":"q1","end":"answered"}\n\n',
      { event: 'question_settled', taskId: 't', waitId: 'q1', end: 'answered', answer: null },
    ],
    [
      'event: usage\ndata: {"task_id":"t","input_tokens":"5","total":null}\n\n',
      { event: 'usage', taskId: 't', turn: 0, model: '', ...none, durationMs: 0, total: none },
    ],
    [
      'event: call_start\ndata: {"task_id":"t"}\n\n',
      { event: 'call_start', taskId: 't', turn: 0, callId: null, toolName: '', arguments: null, argumentsText: null },
    ],
    [
      'event: snapshot\ndata: {"tasks":[null,{"state":"working"},{"task_id":"t","question":{"prompt":"p"}}],"methods":[5]}\n\n',
      {
        event: 'snapshot',
        sessionId: '',
        name: '',
        version: '',
        model: '',
        containment: '',
        methods: [],
        usage: none,
        tasks: [{ taskId: 't', contextId: '', state: '', origin: '', text: '', question: null }],
        tasksLeftOut: 0,
      },
    ],
    [`event: call_start\ndata: {"task_id":"t","arguments":${'['.repeat(600)}${']'.repeat(600)}}\n\n`, null],
  ])('%j of a later version says %j', (written, says) => {
    expect(decoded(written)).toEqual(says);
  });

  it('says nothing above 256 KiB', () => {
    expect(decoded(`event: retry\ndata: {"task_id":"t","reason":"${'x'.repeat(256 * 1024)}"}\n\n`)).toBeNull();
  });
});
