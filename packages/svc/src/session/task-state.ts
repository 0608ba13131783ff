/** Where a task stands; one that is `submitted` waits in the queue. */
export type TaskState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

export type TaskEvent =
  | { readonly type: 'turn-started'; readonly turn: number }
  | { readonly type: 'input-requested'; readonly prompt: string }
  | { readonly type: 'input-answered' }
  | { readonly type: 'input-timed-out' }
  | { readonly type: 'session-ended' }
  /** The driver or its response failed, or compaction did. */
  | { readonly type: 'driver-failed' }
  | { readonly type: 'driver-unavailable'; readonly error: string }
  | { readonly type: 'turns-exhausted'; readonly maxTurns: number }
  | { readonly type: 'spend-refused'; readonly refusal: string }
  | { readonly type: 'canceled' }
  | { readonly type: 'reopened' }
  /** A non-JSON driver response, a trace write failure, a workdir size breach (D1 "Task states" 2). */
  | { readonly type: 'broke'; readonly reason: string };

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
  switch (event.type) {
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
    case 'session-ended':
      from(['working'], state, event);
      return announce('completed', 'session ended', true);
    case 'driver-failed':
      from(['working'], state, event);
      return announce('failed', 'session ended', true);
    case 'driver-unavailable':
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
      return announce('failed', event.refusal, true);
    case 'canceled':
      from(['submitted', 'working', 'input-required'], state, event);
      return announce('canceled', state === 'submitted' ? 'task canceled before it started' : 'task canceled', true);
    case 'reopened':
      from(['completed'], state, event);
      return { state: 'working', announcement: null };
    case 'broke':
      from(['submitted', 'working', 'input-required'], state, event);
      return { state: 'failed', announcement: null };
  }
}

function announce(state: Announcement['state'], message: string, final: boolean): Transition {
  return { state, announcement: { state, message, final } };
}

function from(allowed: readonly TaskState[], state: TaskState, event: TaskEvent): void {
  if (!allowed.includes(state)) throw new Error(`a task that is ${state} cannot meet ${event.type}`);
}
