import { describe, expect, it } from 'vitest';

import type { DecodedArtifact } from '@svc/protocol/decode-frame.ts';
import type { LiveEvent } from '@svc/protocol/live-events.ts';
import type { SessionEvent, ShownResult } from '../shown/session-event.ts';
import { shownCall } from '../shown/call-rows.ts';
import { FrameEvents } from './frame-events.ts';

const taskId = 'tsk_1';

function started(callId: string | null, command: string): LiveEvent {
  return {
    event: 'call_start',
    taskId,
    turn: 1,
    callId,
    toolName: 'sh',
    arguments: { command },
    argumentsText: null,
  };
}

function ended(callId: string | null): LiveEvent {
  const { exitCode, isError, denied, durationMs, step } = { ...came, denied: false, step: 7 };
  return { event: 'call_end', taskId, turn: 1, callId, toolName: 'sh', exitCode, isError, denied, durationMs, step };
}

const came = { exitCode: 0, isError: false, durationMs: 12 } as const;
const settled: LiveEvent = {
  event: 'task_settled',
  taskId,
  state: 'canceled',
  reason: null,
  turns: 1,
  usage: { inputTokens: 1, outputTokens: 1 },
  durationMs: 1,
};

const standing = {
  event: 'snapshot',
  sessionId: 's',
  name: 'n',
  version: '1.0.0',
  model: 'm',
  containment: 'sealed',
  methods: [],
  usage: { inputTokens: 0, outputTokens: 0 },
  tasksLeftOut: 0,
} as const;

function artifact(toolCallId: string | null, content: string): DecodedArtifact {
  const fenced = { fenceSource: null, truncated: false };
  return { event: 'artifact', taskId, toolName: 'sh', toolCallId, content, ...came, ...fenced };
}

function results(events: readonly SessionEvent[]): ShownResult[] {
  return events.flatMap((event) => (event.kind === 'result' ? [event.result] : []));
}

describe('FrameEvents', () => {
  it('gives the reason of a task that failed before the connection', () => {
    const frame = { event: 'status', taskId, state: 'failed', message: 'session ended', final: true } as const;
    const told = { ...frame, contextId: null, response: 'error: the provider is busy' };
    expect(new FrameEvents().ofFrame(told)).toEqual([
      { kind: 'task-ended', taskId, state: 'failed', reason: 'the provider is busy' },
    ]);
  });

  it('say what a call was called with that its provider gave no id', () => {
    const frames = new FrameEvents();
    const shown = [
      ...frames.ofEvent(started(null, 'rm -rf project')),
      ...frames.ofFrame(artifact(null, 'gone')),
      ...frames.ofEvent(ended(null)),
    ];
    expect(results(shown).map(({ input, content, step }) => [input, content, step])).toEqual([
      [{ command: 'rm -rf project' }, 'gone', 7],
    ]);
  });

  it.each([
    ['{"id":1234567890123456789,"of":[1]}', '{"id":1234567890123456789,"of":[1]}'],
    ['{"id":"a', String.raw`"{\"id\":\"a"`],
  ])('say to the digit what a call was called with whose arguments are the text %s', (argumentsText, about) => {
    const frames = new FrameEvents();
    const [began] = frames.ofEvent({ ...started('c', ''), argumentsText } as LiveEvent);
    const [result] = results([...frames.ofFrame(artifact('c', 'gone')), ...frames.ofEvent(ended('c'))]);
    for (const shown of [began, result]) expect(shownCall('find', shown as ShownResult).about).toBe(`find ${about}`);
  });

  it('say it too after many calls that were canceled, whose ends nobody sends', () => {
    const frames = new FrameEvents();
    for (let call = 0; call < 300; call += 1) {
      frames.ofEvent(started(`cut ${call}`, 'sleep 60'));
      frames.ofEvent(settled);
    }
    frames.ofEvent(started('last', 'rm -rf project'));
    frames.ofFrame(artifact('last', 'gone'));
    expect(results(frames.ofEvent(ended('last'))).map(({ input }) => input)).toEqual([{ command: 'rm -rf project' }]);
  });

  it('forget the oldest calls of a capsule that begins them without end', () => {
    const frames = new FrameEvents();
    for (let call = 0; call <= 64; call += 1) frames.ofEvent(started(`c${call}`, `${call}`));
    expect(results(frames.ofFrame(artifact('c0', 'a')))).toHaveLength(1);
    expect(results(frames.ofFrame(artifact('c1', 'a')))).toHaveLength(0);
  });

  it('show the result of a call once that began before the connection', () => {
    const frames = new FrameEvents();
    const shown = [...frames.ofFrame(artifact('c1', 'seen')), ...frames.ofEvent(ended('c1'))];
    expect(results(shown).map(({ content }) => content)).toEqual(['seen']);
  });

  it('hold at most 16 MiB of results whose ends do not come', () => {
    const frames = new FrameEvents();
    const long = 'x'.repeat(6 * 1024 * 1024);
    const shown = ['a', 'b', 'c'].map((id) => {
      frames.ofEvent(started(id, 'cat'));
      return results(frames.ofFrame(artifact(id, long))).length;
    });
    expect(shown).toEqual([0, 0, 1]);
  });

  it('say of a task that was there before the connection whose it is', () => {
    const tasks = ['message', 'peer', 'completion', ''].map((origin) => ({
      taskId: `of ${origin}`,
      contextId: 'c',
      state: 'submitted',
      origin,
      text: 'Paint.',
      question: null,
    }));
    const said = new FrameEvents().ofEvent({ ...standing, tasks });
    expect(said.map((event) => event.kind === 'said' && event.by)).toEqual(['user', 'peer', 'completion', 'user']);
  });

  it('show after a connection broke which question waits now, and that the one before does not', () => {
    const snapshot = (waitId: string | null): LiveEvent => ({
      ...standing,
      tasks: [
        {
          taskId,
          contextId: 'c',
          state: 'working',
          origin: 'message',
          text: 'Paint.',
          question: waitId === null ? null : { taskId, waitId, prompt: `${waitId}?` },
        },
      ],
    });
    const frames = new FrameEvents();
    const kinds = (event: LiveEvent): string[] =>
      frames.ofEvent(event).map((shown) => ('waitId' in shown ? `${shown.kind} ${shown.waitId}` : shown.kind));
    expect(kinds(snapshot(null))).toEqual(['said', 'task-started']);
    expect(kinds(snapshot('q1'))).toEqual(['question q1']);
    expect(kinds(snapshot('q1'))).toEqual([]);
    expect(kinds(snapshot('q2'))).toEqual(['question-settled q1', 'question q2']);
    expect(kinds(snapshot(null))).toEqual(['question-settled q2']);
    expect(kinds(snapshot(null))).toEqual([]);
  });
});
