/** Accepts tasks and knows which is next. */

import type { PreparedText } from '@svc/record/trace/events.ts';
import type { QuestionName } from '@svc/protocol/question.ts';
import { mintContextId, mintTaskId, type TaskId } from '@svc/protocol/ids.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { SessionActivity } from '../task/activity.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { type KeyedMessage, SentMessages } from '../task/sent-messages.ts';
import { Task, type TaskSource, KnownTasks, TaskLanes } from '../task/task.ts';

export interface Acceptance {
  readonly taskAcceptance: 'none' | 'single' | 'queue';
  /** Waiting tasks; the running one does not count. */
  readonly queueDepth: number;
  readonly afterTask: 'exit' | 'sleep';
}

interface TaskBoardDeps {
  readonly acceptance: Acceptance;
  readonly clock: Clock;
  readonly activity: SessionActivity;
  readonly recorder: Recorder;
  /** Does the slow part of recording a text of megabytes ahead. */
  readonly prepare: (text: string) => Promise<PreparedText>;
}

/** `rejected`: there is no room. `closed`: the session is ending and hands nothing to its queue any more. */
export interface Submission {
  readonly kind: 'accepted' | 'rejected' | 'closed';
  readonly task: Task;
}

/** What of a message decides whether it is the same as another. `answers` is the task that it names. */
type SentText = Pick<TaskSource, 'text' | 'contextId' | 'sender' | 'skills'> & { readonly answers?: TaskId };

/** Characters of all waiting tasks together, whatever `queue_depth` says: a message may bring 10 million. */
const maxWaitingText = 64 * 1024 * 1024;

/** How long a cancel waits for what it stops, so that its answer shows the end. */
const cancelPatienceMs = 2000;

/** The tasks of a session: which are accepted, which is next, which can still be asked about. */
export class TaskBoard {
  readonly #deps: TaskBoardDeps;
  readonly #lanes = new TaskLanes();
  readonly #tasks = new KnownTasks();
  readonly #delivered = new WeakSet<Task>();
  readonly #sent = new SentMessages();
  #running: Task | null = null;
  #last: Task | null = null;
  #accepted = 0;
  #ended = 0;
  #closed = false;
  #finishing = false;
  #completed = 0;
  /** Tasks that were canceled by themselves, and by no stop of the session. */
  #canceledAlone = 0;
  #anyFailed = false;
  #stopMetTasks = false;
  #wake: () => void = () => {};

  constructor(deps: TaskBoardDeps) {
    this.#deps = deps;
  }

  /** Tasks that reached `completed`, `failed` or `canceled` (D3 "Generation"). */
  get generation(): number {
    return this.#ended;
  }

  /** No task failed. A client that cancels one task of several says nothing of the session; without another task it has no answer. */
  get endedWell(): boolean {
    return !this.#anyFailed && (this.#completed > 0 || this.#canceledAlone === 0);
  }

  get accepted(): number {
    return this.#accepted;
  }

  /** `session/stop` canceled tasks, and no client has sent another since. */
  get stopMetTasks(): boolean {
    return this.#stopMetTasks;
  }

  get isIdle(): boolean {
    return this.#running === null && this.#lanes.waiting === 0;
  }

  /** The task that the same message became before, as its key says; `other` for the key of another message, null for one that is new. */
  sentBefore(source: SentText): Task | 'other' | null {
    const keyed = keyedMessage(source);
    const sent = keyed === null ? null : this.#sent.find(keyed);
    return sent === null || sent === 'other' ? sent : (this.find(sent.taskId) ?? null);
  }

  /** Accepts a task when there is room; a refused one is known to nobody afterwards (docs/protocol.md "message/send"). */
  submit(source: TaskSource): Submission {
    const task = this.#taskOf(source);
    if (this.#closed) return { kind: 'closed', task };
    if (!this.#hasRoom(task)) return { kind: 'rejected', task };
    this.#stopMetTasks = false;
    return this.#accept(task, source);
  }

  /** Does the slow part of accepting a text of megabytes ahead, in several turns of the event loop; for `prepared` of its source. */
  prepare(text: string): Promise<PreparedText> {
    return this.#deps.prepare(text);
  }

  /**
   * Accepts a task of the session's own, whatever waits already; it takes no place of the queue. Rejected only where a session never runs
   * a second task.
   */
  deliver(source: TaskSource): Submission {
    const task = this.#taskOf(source);
    if (this.#closed) return { kind: 'closed', task };
    if (this.#deps.acceptance.taskAcceptance !== 'queue') return { kind: 'rejected', task };
    this.#delivered.add(task);
    return this.#accept(task, source);
  }

  #taskOf(source: TaskSource): Task {
    const { clock } = this.#deps;
    const contextId = source.contextId ?? mintContextId(clock);
    const task = new Task({ id: source.id ?? mintTaskId(clock), contextId }, source);
    task.changedMs = clock.now();
    return task;
  }

  #accept(task: Task, source: TaskSource): Submission {
    const { id, contextId, conversation, origin, trust, lane, sender, command, skills, text } = task;
    const arrived = { id, contextId, conversation, origin, trust, lane, sender, command, skills, text };
    this.#deps.recorder.arrive({ what: 'task', task: arrived, isDelivered: this.#delivered.has(task) });
    this.#deps.activity.emit({ kind: 'task-submitted', task, prepared: source.prepared });
    this.#remember(source, task);
    this.#accepted += 1;
    this.#tasks.add(task);
    this.#lanes.add(task);
    this.#wake();
    return { kind: 'accepted', task };
  }

  /** Gives the text to the running task when that waits for input, and not for an approval, whatever its context (docs/protocol.md "message/send"). */
  answerInput(source: SentText): Task | null {
    const task = this.#running;
    const wait = task?.inputWait ?? null;
    if (task === null || wait === null || !this.#answer(wait.question, source)) return null;
    this.#remember(source, task);
    return task;
  }

  /** Answers the question of this name; false when its task does not ask it any more, and for an approval. */
  answer(name: QuestionName, { text, sender = null }: Pick<TaskSource, 'text' | 'sender'>): boolean {
    const task = this.find(name.taskId);
    if (task === undefined || !this.#answer(name, { text, sender })) return false;
    this.#remember({ text, sender, answers: task.id }, task);
    return true;
  }

  #answer({ taskId, waitId }: QuestionName, { text, sender = null }: SentText): boolean {
    const task = this.#running?.id === taskId ? this.#running : null;
    const wait = task?.inputWait ?? null;
    if (task === null || wait?.question.waitId !== waitId || wait.question.approval !== undefined) return false;
    this.#deps.recorder.arrive({ what: 'answer', taskId: task.id, waitId, sender, text });
    task.answeredBy = sender?.principal ?? null;
    wait.answer(text);
    return true;
  }

  #remember(source: SentText, task: Task): void {
    const keyed = keyedMessage(source);
    if (keyed !== null) this.#sent.add(keyed, task.id);
  }

  find(id: string): Task | undefined {
    return this.#tasks.find(id);
  }

  /** Every task that can be asked about. */
  known(): Iterable<Task> {
    return this.#tasks.all();
  }

  /** Returns the tasks that are not over: the running one first, then those that wait, in the order of their turns. */
  live(): readonly Task[] {
    const waiting = this.#lanes.all();
    return this.#running === null ? waiting : [this.#running, ...waiting];
  }

  /** How many tasks come before one that is accepted now, the running one among them. */
  before({ lane }: Task): number {
    return this.live().filter((task) => task === this.#running || lane === 'background' || task.lane === 'foreground')
      .length;
  }

  /** The running task, else the last one that ran. The question of a child is nobody's task, and has to be asked for by its id. */
  current(): Task | null {
    return this.#running === null || this.#running.command === 'passed' ? this.#last : this.#running;
  }

  /** Stops a task wherever it is; resolves to it as it then stands. A terminal task is left alone (docs/protocol.md "tasks/cancel"). */
  async cancel(task: Task, principal: string | null = null): Promise<Task> {
    this.#deps.recorder.arrive({ what: 'cancel', taskId: task.id, principal });
    await this.#cancel(task, principal);
    return task;
  }

  async #cancel(task: Task, principal: string | null): Promise<void> {
    if (task.isTerminal) {
      // Its hooks may still reopen it.
      task.requestCancel(principal);
      return;
    }
    if (this.#lanes.remove(task.id) === undefined) {
      task.requestCancel(principal);
      await this.#patiently(task.whenEnded);
    } else {
      task.canceledBy = principal;
      this.#cancelQueued(task);
    }
  }

  /** Cancels every live task; with `after_task: exit` the session then ends by itself (docs/protocol.md "session/stop"). Ids sorted. */
  async cancelAll(principal: string | null = null): Promise<TaskId[]> {
    this.#deps.recorder.arrive({ what: 'stop', principal });
    // A session that ends by itself meets no stop any more: running again, it would have ended before.
    if (!this.#closed) {
      const event = { event_type: 'session_stop', ...(principal === null ? {} : { principal }) } as const;
      this.#deps.activity.emit({ kind: 'noted', task: null, event });
    }
    return await this.#cancelAll(principal);
  }

  async #cancelAll(principal: string | null): Promise<TaskId[]> {
    const waiting = this.#lanes.all();
    const live = this.#running === null || this.#running.isTerminal ? waiting : [this.#running, ...waiting];
    this.#stopMetTasks ||= live.length > 0;
    if (this.#running?.isTerminal === true) this.#running.requestCancel(principal);
    // The waiting ones first: none of them may start when the running one has gone.
    await Promise.all(live.toReversed().map((task) => this.#cancel(task, principal)));
    this.#finishing = true;
    this.#wake();
    return live.map((task) => task.id).sort();
  }

  /** Accepts no task any more and cancels the live ones; `next` ends once they have. */
  async shutDown(): Promise<void> {
    this.close();
    await this.#cancelAll(null);
  }

  /** No task is accepted any more and `next` ends once the live ones have. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Drops every waiting task without a word and stops the running one: the session cannot go on. */
  abandon(): void {
    for (const task of this.#lanes.all()) {
      task.apply({ kind: 'broke', error: 'the session ended before the task started' });
      this.#retire(task);
    }
    this.#lanes.clear();
    this.#running?.requestCancel();
    this.close();
  }

  /** The next task to run, as soon as there is one; null once the session has none left to wait for. */
  async next(): Promise<Task | null> {
    for (;;) {
      const task = this.#lanes.take();
      if (task !== undefined) {
        this.#running = task;
        return task;
      }
      if (this.#isExhausted()) {
        // From here on nobody would run a task, so senders are refused.
        this.#closed = true;
        return null;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Records that nothing of the running task runs any more. */
  finish(task: Task): void {
    this.#running = null;
    this.#retire(task);
  }

  #hasRoom({ text }: Task): boolean {
    const { taskAcceptance, queueDepth } = this.#deps.acceptance;
    const held = this.#lanes.all().reduce((sum, task) => sum + task.text.length, 0);
    if (held + text.length > maxWaitingText) return false;
    if (taskAcceptance !== 'queue') return this.#accepted === 0;
    const waiting = this.#lanes.all().filter((task) => !this.#delivered.has(task)).length;
    const live = waiting + (this.#running === null ? 0 : 1);
    return live < 1 + queueDepth;
  }

  #isExhausted(): boolean {
    if (this.#closed) return true;
    const { taskAcceptance, afterTask } = this.#deps.acceptance;
    const staysUp = taskAcceptance === 'queue' && afterTask === 'sleep';
    return !staysUp && (this.#accepted > 0 || this.#finishing);
  }

  #cancelQueued(task: Task): void {
    const announcement = task.apply({ kind: 'canceled' });
    if (announcement === null) throw new Error('a cancel is always announced');
    this.#deps.activity.emit({ kind: 'task-canceled', task, announcement });
    this.#retire(task);
    this.#wake();
  }

  #retire(task: Task): void {
    if (task.command !== 'passed') this.#last = task;
    this.#ended += 1;
    if (task.state === 'completed') this.#completed += 1;
    else if (task.state === 'canceled' && !this.#stopMetTasks) this.#canceledAlone += 1;
    else this.#anyFailed = true;
    task.changedMs = this.#deps.clock.now();
    task.markEnded();
    this.#tasks.end(task);
    this.#deps.recorder.over(task.id);
    this.#deps.activity.emit({ kind: 'task-settled', task });
  }

  async #patiently(ended: Promise<void>): Promise<void> {
    let cancelTimer = (): void => {};
    const patience = new Promise<void>((resolve) => {
      cancelTimer = this.#deps.clock.after(cancelPatienceMs, resolve);
    });
    await Promise.race([ended, patience]);
    cancelTimer();
  }
}

function keyedMessage({ text, contextId, sender, answers, skills }: SentText): KeyedMessage | null {
  const key = sender?.tags.idempotencyKey;
  if (sender === null || sender === undefined || key === undefined) return null;
  return { principal: sender.principal, key, text, contextId, answers, skills };
}
