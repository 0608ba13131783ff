/** What a chat asks of the session that it starts. */

import type { RunChanges } from '@svc/capsule/launch/running-capsule.ts';

/** A person may type on while a task runs; a manifest may allow more. */
const maxWaiting = 16;

/** It takes one message after the other, remembers what was said, and ends when somebody stops it. It begins without a task. */
export const chatChanges: RunChanges = {
  settle: (manifest) => ({
    ...manifest,
    lifecycle: {
      ...manifest.lifecycle,
      task_acceptance: 'queue',
      queue_depth: Math.max(maxWaiting, manifest.lifecycle.queue_depth),
      after_task: 'sleep',
      conversation: 'threaded',
    },
  }),
  task: async () => null,
  hasPerson: true,
};
