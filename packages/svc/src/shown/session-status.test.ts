import { expect, it } from 'vitest';

import { SessionStatus } from './session-status.ts';

it('the status of a session keeps the question of a task that waits when the one that runs ends, and not after its own end', () => {
  const status = new SessionStatus(() => 0, true);
  const asked = { taskId: 't2', waitId: 'q1' };
  status.note({ kind: 'task-started', taskId: 't1' });
  status.note({ kind: 'question', ...asked, prompt: 'approve?' });
  status.note({ kind: 'question-settled', taskId: 't3', waitId: 'q1', end: 'canceled', answer: null });
  status.note({ kind: 'task-ended', taskId: 't1', state: 'completed', reason: null });
  expect(status.question).toMatchObject(asked);
  status.note({ kind: 'task-started', taskId: 't2' });
  status.note({ kind: 'task-ended', taskId: 't2', state: 'canceled', reason: null });
  expect(status.question).toBe(null);
});
