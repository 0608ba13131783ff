import type { DriverFailure } from '../inference/driver.ts';
import { refusalSentence, type SpendRefusal } from '../inference/spend-refusal.ts';

/** Where a task stands; one that is `submitted` waits in the queue. */
export type TaskState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

/** What moves a task. Each end of the agent loop is one as it is, a failure of the driver among them. */
export type TaskEvent =
  | { readonly kind: 'turn-started'; readonly turn: number }
  | { readonly kind: 'input-requested'; readonly prompt: string }
  | { readonly kind: 'input-answered' }
  | { readonly kind: 'input-timed-out' }
  /** The session ended normally. */
  | { readonly kind: 'completed' }
  | TaskFailure
  | { readonly kind: 'canceled' }
  | { readonly kind: 'reopened' }
  /** A trace write failure, a workdir size breach (D1 "Task states" 2). */
  | { readonly kind: 'broke'; readonly error: string };

/** Why a task ends without a reply. */
export type TaskFailure =
  /** `failed` also of a compaction, or of what the task needs before its first turn. */
  | DriverFailure
  | { readonly kind: 'turns-exhausted'; readonly maxTurns: number }
  | { readonly kind: 'spend-refused'; readonly refusal: SpendRefusal };

/** What a transition says on the wire. `final` is decided here and nowhere else. */
export interface Announcement {
  readonly state: Exclude<TaskState, 'submitted'>;
  readonly message: string;
  readonly final: boolean;
}

export interface Transition {
  readonly state: TaskState;
  /** Null where no status frame is written. */
  readonly announcement: Announcement | null;
}

export function isTerminal(state: TaskState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled';
}

/** The state table of D1 "Task states", row for row. A pair the table does not hold is a bug and throws. */
export function step(state: TaskState, event: TaskEvent): Transition {
  switch (event.kind) {
    case 'turn-started':
      from(['submitted', 'working'], state, event);
      return announce('working', `inference turn ${event.turn}`, false);
    case 'input-requested':
      from(['working'], state, event);
      return announce('input-required', event.prompt, false);
    case 'input-answered':
      from(['input-required'], state, event);
      return announce('working', 'resumed', false);
    case 'input-timed-out':
      from(['input-required'], state, event);
      // The frame says failed, the task goes on: the asking tool fails and the model is told (D1 "Task states").
      return { state: 'working', announcement: { state: 'failed', message: 'input-timeout', final: false } };
    case 'completed':
      from(['working'], state, event);
      return announce('completed', 'session ended', true);
    case 'failed':
      from(['working'], state, event);
      return announce('failed', 'session ended', true);
    case 'unavailable':
      from(['working'], state, event);
      return announce('failed', `driver invocation failed: ${event.error}`, true);
    case 'turns-exhausted':
      from(['working'], state, event);
      return announce(
        'failed',
        `max_turns exceeded: ${event.maxTurns} of ${event.maxTurns} inference turns used`,
        true,
      );
    case 'spend-refused':
      from(['working'], state, event);
      return announce('failed', refusalSentence(event.refusal, 'the next call'), true);
    case 'canceled':
      from(['submitted', 'working', 'input-required'], state, event);
      return announce('canceled', state === 'submitted' ? 'task canceled before it started' : 'task canceled', true);
    case 'reopened':
      from(['completed'], state, event);
      return { state: 'working', announcement: null };
    case 'malformed':
    case 'broke':
      from(['submitted', 'working', 'input-required'], state, event);
      return { state: 'failed', announcement: null };
  }
}

function announce(state: Announcement['state'], message: string, final: boolean): Transition {
  return { state, announcement: { state, message, final } };
}

function from(allowed: readonly TaskState[], state: TaskState, event: TaskEvent): void {
  if (!allowed.includes(state)) throw new Error(`a task that is ${state} cannot meet ${event.kind}`);
}
