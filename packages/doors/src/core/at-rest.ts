/** Waits until a task is over or asks something: until then a client that wants one answer has none. */

import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskRecords } from '@svc/session/task-records.ts';

/** It goes on by itself no further. */
export function isAtRest(record: TaskRecord): boolean {
  return record.isSettled || record.state === 'input-required';
}

export function untilAtRest(record: TaskRecord, records: Pick<TaskRecords, 'follow'>): Promise<void> {
  if (isAtRest(record)) return Promise.resolve();
  return new Promise((resolve) => {
    const unfollow = records.follow(record, (news) => {
      if (news.kind !== 'state' || !isAtRest(record)) return;
      unfollow();
      resolve();
    });
  });
}
