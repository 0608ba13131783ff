/** One task, and the table of the states it goes through. */

import type { ApprovalAnswer, AskedApproval } from '@svc/protocol/approval.ts';
import type { PassedQuestion } from '@svc/protocol/passed-question.ts';
import type { Question } from '@svc/protocol/question.ts';
import type { ContextId, SessionId, TaskId } from '@svc/protocol/ids.ts';
import type { MessageTags } from '@svc/protocol/message-tags.ts';
import type { PreparedText } from '@svc/record/trace/events.ts';
import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import type { DriverFailure } from '../model/driver.ts';
import type { Usage } from '../model/driver-notes.ts';
import { refusalSentence, type SpendRefusal } from '../model/spend-meter.ts';

/** How a task reached the capsule (docs/protocol.md "Origin and trust"). */
type TaskOrigin = 'user' | 'message' | 'peer' | 'completion';

export type Trust = 'trusted' | 'untrusted';

/** Foreground before background; first in, first out within one. */
type Lane = 'foreground' | 'background';

/** Who gave a task, and what they noted on it. */
export interface Sender {
  /** `operator` showed the listener token, `token:<name>` a door token, `local` reached a listener that asks for none. */
  readonly principal: string;
  readonly tags: MessageTags;
}

/** Whether the conversation gets what a command gave that a person typed, or it is only shown. */
export type TypedCommandUse = 'shown' | 'told';

/** What a task is for at which no model works: a command that a person typed, or a call of a child that waits for a person. */
type Modelless = TypedCommandUse | 'passed';

/** A call of a child, on its way to a person. */
export interface PassedCall {
  readonly question: PassedQuestion;
  /** From the child of this capsule to the capsule whose call it is. */
  readonly path: readonly string[];
  /** The session of the child. */
  readonly sessionId: SessionId;
  /** What a person was offered before the turn of its task. */
  asked?: AskedApproval;
  /** Whether a person was shown that. */
  isShown?: boolean;
  /** Is null until a person has answered, or the time for that is over. */
  end: QuestionEnd | null;
}

export interface TaskSource {
  readonly text: string;
  /** It is null for a task that the session gives itself, and for the one that it was started with. */
  readonly sender?: Sender | null;
  readonly origin: TaskOrigin;
  readonly trust: Trust;
  /** The id that the task has in a recording; without it a fresh one is minted. */
  readonly id?: TaskId;
  /** The message's own context; without it a fresh one is minted (D1 "Identifier shapes"). */
  readonly contextId?: ContextId;
  /** Set where no model is asked. For a command that a person typed, the text has it behind `!` or `!!`. */
  readonly command?: Modelless | null;
  /** With the command `passed`. */
  readonly passed?: PassedCall;
  /** Skills whose texts it begins with, in their order, each once; none when absent. */
  readonly skills?: readonly string[];
  /** Where its conversation is kept, for what goes on another task's; that of its sender in its context without it. */
  readonly conversation?: ContextId;
  /** A long text as the trace will hold it; without it the text is encoded as it is recorded. */
  readonly prepared?: PreparedText;
}

/**
 * The key under which the conversation of a context is kept. Each holder of a door token has contexts of its own, since clients choose the names of
 * their contexts and must not read what another said under the same name. The operator shares those of the session.
 */
export function conversationOf(sender: Pick<Sender, 'principal'> | null, contextId: ContextId): ContextId {
  const isNamed = sender?.principal.startsWith('token:') === true;
  return isNamed ? (`${sender.principal} ${contextId}` as ContextId) : contextId;
}

/** A question of a tool to the sender of the task that is open. */
interface InputWait {
  readonly question: Question;
  /** Settles once the question is answered, timed out or canceled. */
  readonly settled: Promise<unknown>;
  answer(text: string): void;
  /** For a call that waits for approval. */
  decide(end: ApprovalEnd): void;
}

/** How a person settled the question whether a call may run. */
export interface ApprovalEnd extends Pick<ApprovalAnswer, 'decision' | 'option' | 'note'> {
  readonly kind: 'decided';
}

/** How a question about a call ended: with an answer, or with its time. */
export type QuestionEnd = ApprovalEnd | { readonly kind: 'timed-out' };

/** One unit of work and where it stands. Its state moves through the table of `step` alone. */
export class Task {
  readonly id: TaskId;
  readonly contextId: ContextId;
  /** Under which its conversation is kept. */
  readonly conversation: ContextId;
  readonly origin: TaskOrigin;
  readonly trust: Trust;
  readonly lane: Lane;
  readonly sender: Sender | null;
  /** Is null for a task of the model. */
  readonly command: Modelless | null;
  /** Is null unless a child asks, and in a replay. */
  readonly passed: PassedCall | null;
  /** The skills whose texts its first attempt begins with. */
  readonly skills: readonly string[];
  /** What was asked; empty once the task has ended, when nobody reads it any more. */
  text: string;
  readonly #cancel = new AbortController();
  #state: TaskState = 'submitted';
  #statusMessage: string | null = null;
  #ended: () => void = () => {};

  /** The text of `out/result.txt` once this task wrote it. */
  result: string | null = null;
  /** The answer of a task that failed only because it could not be kept where it belongs; null for any other. */
  unkeptReply: string | null = null;
  inputWait: InputWait | null = null;
  /** The question of a child, while it is shown before the turn of its task. */
  offered: Question | null = null;
  /** As whom they are known who answered its last question, and who canceled it; null where nobody has, or nobody from outside. */
  answeredBy: string | null = null;
  canceledBy: string | null = null;
  /** Attempts begun, and inference turns of all of them together. */
  attempts = 0;
  turns = 0;
  /** Tokens of all attempts, without those of its hooks. */
  usage: Usage = { inputTokens: 0, outputTokens: 0 };
  /** On the monotonic clock, when its first attempt began; null before. */
  startedMs: number | null = null;
  /** Questions asked so far. */
  questions = 0;
  /** Why the last attempt failed; null unless it did. */
  failure: string | null = null;
  /** Whether the hooks that are asked now may reopen the task, once it has completed. */
  mayReopen = false;
  /** Unix milliseconds of its arrival, then of its end. */
  changedMs = 0;
  /** It is terminal for good: its hooks have spoken and nothing of it runs any more. */
  hasSettled = false;
  /** Settles when the task is terminal and nothing of it runs any more. */
  readonly whenEnded: Promise<void> = new Promise((resolve) => {
    this.#ended = resolve;
  });

  constructor(identity: { readonly id: TaskId; readonly contextId: ContextId }, source: TaskSource) {
    this.id = identity.id;
    this.contextId = identity.contextId;
    this.text = source.text;
    this.origin = source.origin;
    this.trust = source.trust;
    this.sender = source.sender ?? null;
    this.command = source.command ?? null;
    this.passed = source.passed ?? null;
    this.skills = source.skills ?? [];
    this.conversation = source.conversation ?? conversationOf(this.sender, this.contextId);
    this.lane = source.origin === 'completion' ? 'background' : 'foreground';
  }

  get state(): TaskState {
    return this.#state;
  }

  /** The state as clients see it: a task that completed still works while a hook may reopen it (docs/protocol.md "Task states"). */
  get reportedState(): TaskState {
    return this.#state === 'completed' && this.mayReopen && !this.signal.aborted ? 'working' : this.#state;
  }

  /** What the last status frame said, or why no frame was sent; null before the first. */
  get statusMessage(): string | null {
    return this.#statusMessage;
  }

  get isTerminal(): boolean {
    return isTerminal(this.#state);
  }

  /** Reaches whatever the task is doing: inference call, component worker, subprocess group, input wait. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  /** An accepted cancel wins over every later outcome (docs/protocol.md "tasks/cancel"), and the first is the one that is reported. */
  requestCancel(by: string | null = null): void {
    if (!this.signal.aborted) this.canceledBy = by;
    this.#cancel.abort(new TaskCanceled());
  }

  apply(event: TaskEvent): Announcement | null {
    const transition = step(this.#state, event);
    this.#state = transition.state;
    if (transition.announcement !== null) this.#statusMessage = transition.announcement.message;
    // `tasks/get` gives it, though no frame does (D1 "Task states" 2).
    if (event.kind === 'broke' || event.kind === 'malformed') this.#statusMessage = event.error;
    return transition.announcement;
  }

  markEnded(): void {
    this.text = '';
    this.mayReopen = false;
    this.hasSettled = true;
    this.#ended();
  }
}

/** The reason an aborted task's signal carries. */
export class TaskCanceled extends Error {
  constructor() {
    super('the task was canceled');
    this.name = 'TaskCanceled';
  }
}

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
  /** `failed` is also for a compaction, or for what the task needs before its first turn. */
  | DriverFailure
  | { readonly kind: 'turns-exhausted'; readonly maxTurns: number }
  | { readonly kind: 'spend-refused'; readonly refusal: SpendRefusal };

/** A task that failed, for who reports it. */
export interface FailedTask {
  /** Why, as the trace says it: `code` and a colon first where there is a code. */
  readonly words: string;
  readonly code: DiagnosticCode | null;
  /** What an operator can do about it, where `svc` itself says why. */
  readonly hint: string | null;
  /** Whether the same task may succeed later, with nothing changed; null where that is not known. */
  readonly retryable: boolean | null;
}

/** What a transition says on the wire. `final` is decided here and nowhere else. */
export interface Announcement {
  readonly state: Exclude<TaskState, 'submitted'>;
  readonly message: string;
  readonly final: boolean;
}

interface Transition {
  readonly state: TaskState;
  /** It is null where no status frame is written. */
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
      // The frame says failed, the task goes on: the asking tool fails and the model gets its error (D1 "Task states").
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

/** Accepted tasks that wait for their turn: foreground before background, first in, first out (docs/protocol.md "Task states"). */
export class TaskLanes {
  readonly #waiting: Task[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  add(task: Task): void {
    const next = task.lane === 'foreground' ? this.#waiting.findIndex(({ lane }) => lane === 'background') : -1;
    this.#waiting.splice(next < 0 ? this.#waiting.length : next, 0, task);
  }

  /** The next task to run. */
  take(): Task | undefined {
    return this.#waiting.shift();
  }

  /** Takes a task out before it started; undefined when it does not wait here. */
  remove(id: TaskId): Task | undefined {
    const at = this.#waiting.findIndex((task) => task.id === id);
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  clear(): void {
    this.#waiting.length = 0;
  }

  all(): Task[] {
    return [...this.#waiting];
  }
}

/** Ended tasks that can still be asked about. */
const maxEnded = 1000;

/** How many characters their results may hold together; the newest is kept whatever its length. */
const maxHeld = 16 * 1024 * 1024;

/** The tasks that `tasks/get` knows: those that live, and the ended ones of late. A capsule that stays up for weeks does not grow. */
export class KnownTasks {
  readonly #tasks = new Map<TaskId, Task>();
  /** Ended ones, the oldest first, with what each holds. */
  readonly #ended = new Map<TaskId, number>();
  #held = 0;

  add(task: Task): void {
    this.#tasks.set(task.id, task);
  }

  find(id: string): Task | undefined {
    return this.#tasks.get(id as TaskId);
  }

  all(): Iterable<Task> {
    return this.#tasks.values();
  }

  /** Takes note that a task has ended, and forgets the oldest of those that are too many. */
  end({ id, result, statusMessage }: Task): void {
    const holds = (result?.length ?? 0) + (statusMessage?.length ?? 0);
    this.#ended.set(id, holds);
    this.#held += holds;
    for (const [oldest, held] of this.#ended) {
      if (oldest === id || (this.#ended.size <= maxEnded && this.#held <= maxHeld)) return;
      this.#ended.delete(oldest);
      this.#tasks.delete(oldest);
      this.#held -= held;
    }
  }
}
