/** Names the task whose stream is measured. */

import type { TaskId } from '@svc/protocol/ids.ts';

/** The task whose stream is measured; rows that subscribe to it name it too. */
export const benchTaskId = 'tsk_01a215246ca272779f752756e5fa6d0f' as TaskId;
