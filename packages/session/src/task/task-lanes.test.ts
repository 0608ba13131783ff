import { describe, expect, it } from 'vitest';

import type { TaskId } from '@svc/protocol/ids.ts';
import { type Task, TaskLanes } from './task.ts';

/** The lanes look at a task's id and lane alone. */
function task(id: string, lane: Task['lane']): Task {
  return { id: id as TaskId, lane } as Task;
}

function filled(): TaskLanes {
  const lanes = new TaskLanes();
  lanes.add(task('b1', 'background'));
  lanes.add(task('f1', 'foreground'));
  lanes.add(task('b2', 'background'));
  lanes.add(task('f2', 'foreground'));
  return lanes;
}

const ids = (lanes: TaskLanes): readonly string[] => lanes.all().map(({ id }) => id);

describe('tasks that wait', () => {
  it('leave foreground first, each lane in the order it was filled', () => {
    const lanes = filled();
    expect(lanes.waiting).toBe(4);
    const taken = Array.from({ length: 5 }, () => lanes.take()?.id);
    expect(taken).toEqual(['f1', 'f2', 'b1', 'b2', undefined]);
    expect(lanes.waiting).toBe(0);
  });

  it.each([
    ['f1', ['f2', 'b1', 'b2']],
    ['b2', ['f1', 'f2', 'b1']],
  ])('leave the others when %s is removed', (id, rest) => {
    const lanes = filled();
    expect(lanes.remove(id as TaskId)?.id).toBe(id);
    expect(ids(lanes)).toEqual(rest);
    expect(lanes.waiting).toBe(3);
  });

  it('all stay when one is removed that does not wait', () => {
    const lanes = filled();
    expect(lanes.remove('f3' as TaskId)).toBeUndefined();
    expect(ids(lanes)).toEqual(['f1', 'f2', 'b1', 'b2']);
  });

  it('disappear once they are cleared', () => {
    const lanes = filled();
    lanes.clear();
    expect(lanes.waiting).toBe(0);
    expect(ids(lanes)).toEqual([]);
    expect(lanes.take()).toBeUndefined();
  });
});
