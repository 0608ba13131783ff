import { expect, it, describe } from 'vitest';

import { decodeAnswer, WitEvents } from './wit-hook.ts';
import type { HookedTask, JudgedCall } from './session-hooks.ts';

const many = Array.from({ length: 300_000 }, () => 0);

it.each([
  { tag: 'write-manifests', val: many },
  { tag: 'replace-context', val: many },
  { tag: 'replace-context', val: [{ tag: 'user', val: many }] },
  { tag: 'replace-context', val: Array.from({ length: 300 }, () => ({ tag: 'user', val: many.slice(0, 1_000) })) },
])('a hook that answers hundreds of thousands of items has failed', (answer) => {
  expect(decodeAnswer(answer)).toEqual({ kind: 'error', error: 'it answered lists of more than 16384 items' });
});

it('the reason that a hook gives for its failure is cut behind 16,384 characters', () => {
  expect(decodeAnswer({ tag: 'err', val: 'x'.repeat(20_000) })).toEqual({
    kind: 'error',
    error: `${'x'.repeat(16_384)}…`,
  });
});

const session = { sessionId: 'ses_1', capsule: 'demo', version: '1.0.0' };
const events = new WitEvents(session);
const task: HookedTask = {
  id: 'tsk_1',
  contextId: 'ctx_1',
  origin: 'peer',
  trusted: false,
  attempt: 2,
  signal: new AbortController().signal,
};
const told = { session, taskId: 'tsk_1', contextId: 'ctx_1', origin: 'peer', trusted: false, attempt: 2 };

function call(toolName: string, command: string): JudgedCall {
  return { toolName, kind: 'shell', callId: null, arguments: { command }, turn: 3 };
}

describe('the payload of a hook', () => {
  it('has the arguments of a call as the model gave them', () => {
    expect(events.toolCall(task, { ...call('git', 'log -1'), callId: 'c1' })).toEqual({
      task: told,
      turn: 3,
      tool: 'git',
      callId: 'c1',
      arguments: '{"command":"log -1"}',
    });
    expect(events.toolCall(task, call('git', 'log'))).toMatchObject({ callId: undefined });
  });

  it.each([
    ['git', `log --format='%h %s' "a b"`, ['log', '--format=%h %s', 'a b']],
    ['sh', 'echo $HOME | wc -c', ['-c', 'echo $HOME | wc -c']],
    ['git', `log 'open`, [`log 'open`]],
  ])('has the words of a command that %s starts for %j', (name, command, args) => {
    expect(events.shell(task, call(name, command))).toEqual({ task: told, turn: 3, command: name, args });
  });

  it('has the answer and the usage of a turn', () => {
    const response = {
      content: [
        { type: 'thinking', text: 'Hm.' },
        { type: 'tool_call', id: 'c1', name: 'read', input: { path: 'a' } },
      ],
      stopReason: 'tool_call',
    } as const;
    expect(
      events.inference(task, { turn: 1, model: 'm', response, usage: { inputTokens: 7, outputTokens: 9 } }),
    ).toEqual({
      task: told,
      turn: 1,
      model: 'm',
      content: [
        { tag: 'thinking', val: { text: 'Hm.', signature: null } },
        { tag: 'tool-call', val: { id: 'c1', name: 'read', input: '{"path":"a"}' } },
      ],
      stopReason: 'tool_call',
      usage: { inputTokens: 7n, outputTokens: 9n },
    });
  });

  it('has all of a full conversation', () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      { role: 'tool', toolCallId: 'c1', isError: true, content: [] },
    ] as const;
    expect(events.compaction(task, { messages, estimatedTokens: 10, maxTokens: 9 })).toEqual({
      task: told,
      messages: [
        { tag: 'user', val: [{ tag: 'text', val: 'Go.' }] },
        { tag: 'tool', val: { toolCallId: 'c1', isError: true, content: [] } },
      ],
      estimatedTokens: 10n,
      maxTokens: 9n,
    });
  });
});
