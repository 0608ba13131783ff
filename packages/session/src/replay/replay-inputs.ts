/** Takes what came to a recorded session by itself to the session that is run again. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ReplayInputs } from './replayer.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { TaskBoard } from '../loop/task-board.ts';

interface ReplayedSession {
  readonly board: TaskBoard;
  readonly approvals: Pick<Approvals, 'replayed'> | null;
  readonly shutDown: () => Promise<void>;
  readonly trap: (reason: Diagnostic) => void;
  readonly record: (event: TraceEvent) => void;
}

/** Hands arrivals to the board and the session, as the doors of a running capsule do. */
export function replayInputs({ board, approvals, shutDown, trap, record }: ReplayedSession): ReplayInputs {
  return {
    arrive: (arrival) => {
      switch (arrival.what) {
        case 'task': {
          const { task, isDelivered } = arrival;
          return (isDelivered ? board.deliver(task) : board.submit(task)).kind === 'accepted';
        }
        case 'answer':
          return board.answer(arrival, arrival);
        case 'decision':
          return approvals?.replayed(arrival) ?? false;
        case 'cancel': {
          const task = board.find(arrival.taskId);
          // A task that is over and forgotten would not be canceled either.
          if (task !== undefined) void board.cancel(task, arrival.principal);
          return true;
        }
        case 'stop':
          void board.cancelAll(arrival.principal);
          return true;
        case 'shut-down':
          void shutDown();
          return true;
        case 'trap':
          trap(arrival.reason);
          return true;
      }
    },
    note: record,
  };
}
