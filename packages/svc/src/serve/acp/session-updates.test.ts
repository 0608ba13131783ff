import { describe, expect, it } from 'vitest';

import type { Activity } from '@svc/session/task/activity.ts';
import { Task } from '@svc/session/task/task.ts';
import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import { SessionUpdates } from './session-updates.ts';
import type { AcpUpdate } from './updates.ts';

function shown(): { readonly updates: AcpUpdate[]; readonly session: SessionUpdates; readonly task: Task } {
  const updates: AcpUpdate[] = [];
  const tools = { editorRoot: '/p', project: null, commands: new Set<string>(), contextTokens: null };
  const session = new SessionUpdates(tools, (update) => updates.push(update));
  const task = new Task(
    { id: 'tsk_1' as TaskId, contextId: 'ctx_1' as ContextId },
    { text: 'x', origin: 'user', trust: 'trusted' },
  );
  return { updates, session, task };
}

const texts = (updates: readonly AcpUpdate[]): unknown[] =>
  updates.map((update) => ('messageId' in update ? [update.messageId, update.content['text']] : update.sessionUpdate));

describe('an editor', () => {
  it('has whole characters, wherever the model cut its text', () => {
    const { updates, session, task } = shown();
    for (const text of ['a\ud83d', '\ude00b', '\ud83d']) session.note({ kind: 'text', task, text });
    session.note({ kind: 'inference-started', task, turn: 2, request: {} } as unknown as Activity);
    session.note({ kind: 'text', task, text: 'c' });
    expect(texts(updates)).toEqual([
      ['tsk_1/0/0', 'a'],
      ['tsk_1/0/0', '\u{1f600}b'],
      ['tsk_1/0/2', 'c'],
    ]);
  });

  it('comes in pieces where it is long', () => {
    const { updates, session, task } = shown();
    session.note({ kind: 'whole-reply', task, text: `${'x'.repeat(256 * 1024 - 1)}\u{1f600}y` });
    expect(updates.map((update) => ('messageId' in update ? String(update.content['text']).length : null))).toEqual([
      256 * 1024 - 1,
      3,
    ]);
  });

  it('gets at most 2.5 MiB of the files that one call changed', () => {
    const { updates, session, task } = shown();
    session.note({ kind: 'call-started', task, turn: 1, call: { id: 'c', name: 'submit-plan', input: {} } });
    const bytes = Buffer.alloc(1024 * 1024, 0x61);
    for (const path of ['/p/a', '/p/b', '/p/c']) session.changed({ path, before: null, after: { bytes } });
    const call = { unfenced: 'done', content: 'done', fenceSource: null, isError: false, kind: 'runtime' };
    session.note({ kind: 'call-ended', task, turn: 1, input: {}, call, step: null } as unknown as Activity);
    expect(updates.at(-1)).toMatchObject({ locations: [{ path: '/p/a' }, { path: '/p/b' }] });
  });

  it('gets the whole reason why a task failed, and its prompt ends with the beginning of it', () => {
    const { updates, session, task } = shown();
    const why = '\u0001'.repeat(6 * 1024 * 1024);
    task.apply({ kind: 'broke', error: why });
    const end = session.ended(task);
    expect(end).toEqual({ kind: 'failed', why: `${'\u0001'.repeat(4096)}…` });
    const lengths = updates.map((update) => ('messageId' in update ? String(update.content['text']).length : 0));
    expect([Math.max(...lengths), lengths.reduce((sum, length) => sum + length, 0)]).toEqual([262_144, 6_291_457]);
  });

  it('says of a call that was cut off that it failed', () => {
    const { updates, session, task } = shown();
    session.note({ kind: 'call-started', task, turn: 1, call: { id: 'c', name: 'wc', input: {} } });
    task.apply({ kind: 'canceled' });
    expect(session.ended(task)).toEqual({ kind: 'end', reason: 'cancelled' });
    expect(updates.at(-1)).toEqual({ sessionUpdate: 'tool_call_update', toolCallId: 'tsk_1-1', status: 'failed' });
  });
});
