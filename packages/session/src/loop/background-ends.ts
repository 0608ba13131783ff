/** Turns the end of a background command into a task. */

import { diagnosticOf, type Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { WorkId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type {
  BackgroundCommand,
  BackgroundCommands,
  BackgroundObserver,
} from '../tools/background/background-commands.ts';
import type { Task } from '../task/task.ts';
import type { TaskBoard } from './task-board.ts';

/** How the task begins that reports such an end. */
export const backgroundEnd = 'A command that went on in the background, ';

interface BackgroundEndsDeps {
  readonly board: TaskBoard;
  /** Throws the Diagnostic of a line that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  /** Given that Diagnostic. */
  readonly onLost: (lost: Diagnostic) => void;
}

/**
 * Records what becomes of background commands, and submits the end of each as a task of the context that started it (docs/adr/sessions.md "A command that
 * outlasts its grace").
 */
export function backgroundEnds({ board, record, onLost }: BackgroundEndsDeps): BackgroundObserver {
  // The board forgets old tasks, and a command may outlive its own by days.
  const origins = new Map<WorkId, Pick<Task, 'contextId' | 'conversation'>>();

  function attempt(work: () => void): void {
    const lost = diagnosticOf(work);
    if (lost !== null) onLost(lost);
  }

  return {
    moved(command) {
      const task = board.find(command.taskId);
      if (task !== undefined) origins.set(command.id, { contextId: task.contextId, conversation: task.conversation });
      attempt(() => record({ ...traced(command), state: 'moved', exit_code: null }));
    },
    ended(command, { outcome, durationMs, stopped }) {
      const origin = origins.get(command.id);
      origins.delete(command.id);
      attempt(() => {
        const state = stopped ? 'stopped' : 'ended';
        const end = { state, exit_code: outcome.exitCode, duration_ms: durationMs } as const;
        record({ ...traced(command), ...end });
        if (stopped) return;
        const text = `${backgroundEnd}${command.id}, has ended.\n${outcome.content}`;
        board.deliver({ text, origin: 'completion', trust: 'untrusted', ...origin });
      });
    },
  };
}

/** What `session/stop` says of a command that goes on (docs/protocol.md "session/stop"). */
interface CommandResidue {
  readonly kind: 'command';
  readonly id: WorkId;
  /** The command that the model gave, cut at 1,000 characters. */
  readonly command: string;
}

const maxShown = 1000;

export function residueOf({ running }: Pick<BackgroundCommands, 'running'>): readonly CommandResidue[] {
  return running.map(({ id, command }) => ({
    kind: 'command',
    id,
    command: shortened(command, maxShown),
  }));
}

type Traced = Extract<TraceEvent, { event_type: 'background_command' }>;

function traced({
  id,
  taskId,
  name,
}: BackgroundCommand): Pick<Traced, 'event_type' | 'task_id' | 'work_id' | 'command_name'> {
  return { event_type: 'background_command', task_id: taskId, work_id: id, command_name: name };
}
