import { describe, expect, it } from 'vitest';

import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import { Task, KnownTasks } from './task.ts';

function task(number: number): Task {
  const id = `tsk_${number}` as TaskId;
  return new Task({ id, contextId: 'ctx_1' as ContextId }, { text: 'Do it.', origin: 'message', trust: 'untrusted' });
}

describe('the tasks that are known', () => {
  it('include the live ones and the last thousand that ended', () => {
    const known = new KnownTasks();
    const live = task(0);
    known.add(live);
    for (let number = 1; number <= 1001; number += 1) {
      const ended = task(number);
      known.add(ended);
      known.end(ended);
    }
    expect(known.find('tsk_0')).toBe(live);
    expect(known.find('tsk_1')).toBeUndefined();
    expect(known.find('tsk_2')?.id).toBe('tsk_2');
    expect(known.find('tsk_1001')?.id).toBe('tsk_1001');
  });

  it('hold at most 16 Mi characters of results, beside the newest', () => {
    const known = new KnownTasks();
    const results = ['a'.repeat(9 * 1024 ** 2), 'b'.repeat(8 * 1024 ** 2), 'c'.repeat(17 * 1024 ** 2)];
    for (const [number, result] of results.entries()) {
      const ended = task(number);
      ended.result = result;
      known.add(ended);
      known.end(ended);
      expect([0, 1, 2].map((each) => known.find(`tsk_${each}`) !== undefined)).toEqual(
        [0, 1, 2].map((each) => each === number),
      );
    }
  });

  it('keep nothing of what was asked once they have ended', () => {
    const ended = task(1);
    expect(ended.text).toBe('Do it.');
    ended.markEnded();
    expect(ended.text).toBe('');
  });
});
