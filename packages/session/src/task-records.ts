/** Keeps a record of each task from the activity of its session, for doors that show tasks to their clients. */

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import type { DispatchedCall } from './tools/tool.ts';
import type { Activity } from './task/activity.ts';
import type { Session } from './session.ts';
import type { Task, TaskSource, TaskState } from './task/task.ts';
import type { Submission } from './loop/task-board.ts';
import {
  bytesOf,
  costOfOne,
  type KeptArtifact,
  type KeptFile,
  type KeptMessage,
  type TaskFollower,
  TaskRecord,
} from './task/task-record.ts';

/** Limit for all messages and artifacts together. */
const maxTogether = 16 * 1024 * 1024;
/** A longer reason or question of the capsule's own is cut. */
const maxMessage = 60 * 1024;
/** What a task says that is not begun because another one waits for an answer. It says nothing of the other: that may be another client's. */
const waitsBehind = 'waits: a task before this one asks a question that is not answered yet';
/** Limit for a response that is still being written; the rest is shown when it is whole. */
const maxPartial = 4 * 1024 * 1024;

type RecordedSession = Pick<Session, 'activity' | 'board' | 'clock'>;

/** The files that have changed since a moment, in Unix milliseconds, for those who are shown what a task came to. */
export type FilesSince = (sinceMs: number) => readonly KeptFile[];

/** Something that counts. It does not hold the record of its task, which is to go with the task. */
interface Held {
  readonly taskId: TaskId;
  readonly bytes: number;
  readonly drop: (record: TaskRecord) => void;
}

/**
 * The records of a session's tasks. It listens from its making on: what was said before is not known, but where each task stands is. Of messages it
 * holds 64 KiB a task, of messages and artifacts 16 MiB together, the newest ones; a record goes with its task.
 */
export class TaskRecords {
  readonly #session: RecordedSession;
  readonly #filesSince: FilesSince;
  readonly #records = new WeakMap<Task, TaskRecord>();
  /** Everything that counts, the oldest first. */
  readonly #held = new Set<Held>();
  #heldBytes = 0;
  /** The message that the task which is being submitted began as. */
  #arriving: KeptMessage | null = null;

  constructor(session: RecordedSession, filesSince: FilesSince = () => []) {
    this.#session = session;
    this.#filesSince = filesSince;
    session.activity.subscribe((activity) => this.#hear(activity));
  }

  /** Returns null for a task that the session does not know, or not any more. */
  find(id: string): TaskRecord | null {
    const task = this.#session.board.find(id);
    return task === undefined ? null : this.of(task);
  }

  of(task: Task): TaskRecord {
    const known = this.#records.get(task);
    if (known !== undefined) return known;
    const record = new TaskRecord(task, task.changedMs);
    this.#records.set(task, record);
    const said = record.state === 'input-required' ? (task.inputWait?.question.prompt ?? '') : reasonOf(record);
    if (said !== '') this.#say(record, said);
    return record;
  }

  /** Returns the records of all tasks that the session knows, in no particular order. */
  *all(): Generator<TaskRecord> {
    for (const task of this.#session.board.known()) yield this.of(task);
  }

  /** Hands a task to the board, keeping the message that it begins with. */
  submit(source: TaskSource, message: KeptMessage): Submission {
    this.#arriving = message;
    try {
      return this.#session.board.submit(source);
    } finally {
      this.#arriving = null;
    }
  }

  /** Answers a question with a message; false when it is not asked any more. */
  answer(record: TaskRecord, source: Pick<TaskSource, 'text' | 'sender'>, message: KeptMessage): boolean {
    const question = record.task.inputWait?.question;
    if (question === undefined) return false;
    this.#keep(record, message);
    if (this.#session.board.answer(question, source)) return true;
    record.forget(message);
    return false;
  }

  /** Until the returned function is called. */
  follow(record: TaskRecord, follower: TaskFollower): () => void {
    record.followers.add(follower);
    return () => void record.followers.delete(follower);
  }

  #hear(activity: Activity): void {
    switch (activity.kind) {
      case 'task-submitted':
        return this.#submitted(activity.task);
      case 'state-changed':
        // The end of an attempt does not end the task yet: hooks may reopen it.
        if (activity.event.kind === 'turn-started') this.#turn(this.of(activity.task));
        return;
      case 'text':
      case 'whole-reply':
        return this.#text(this.of(activity.task), activity.text);
      case 'call-ended':
        return activity.call.denied ? undefined : this.#callEnded(this.of(activity.task), activity.call);
      case 'hook-artifact':
        return this.#artifact(this.of(activity.task), activity.artifact.hookName, activity.artifact.content);
      case 'question':
        this.#change(this.of(activity.task), 'input-required', activity.question.prompt);
        return this.#sayToWaiting(waitsBehind);
      case 'question-settled':
        this.#sayToWaiting(null);
        if (activity.end === 'canceled') return;
        return this.#change(this.of(activity.task), 'working', null, activity.end === 'timed-out');
      case 'task-settled':
        return this.#settled(this.of(activity.task));
      case 'attempt-started':
        return this.#attempt(this.of(activity.task));
      case 'inference-started':
      case 'thinking':
      case 'inference-left':
      case 'inference-ended':
      case 'retry-waits':
      case 'retried':
      case 'call-started':
      case 'call-judged':
      case 'file-refused':
      case 'question-offered':
      case 'offer-over':
      case 'spend-refused':
      case 'task-canceled':
      case 'attempt-ended':
      case 'task-reopened':
      case 'noted':
        return;
    }
  }

  #submitted(task: Task): void {
    const record = new TaskRecord(task, this.#session.clock.now());
    this.#records.set(task, record);
    this.#keep(record, this.#arriving ?? record.newMessage('user', task.text));
    const [running] = this.#session.board.live();
    if (running !== task && (running?.inputWait ?? null) !== null) {
      record.said = record.newMessage('agent', waitsBehind);
    }
  }

  /** Clients whose tasks are not begun are shown why, and are shown the end of that. */
  #sayToWaiting(text: string | null): void {
    for (const task of this.#session.board.live()) {
      const record = this.of(task);
      if (record.state === 'submitted') this.#change(record, 'submitted', text);
    }
  }

  /** Notes since when a task works. A task that was reopened has worked since its first attempt. */
  #attempt(record: TaskRecord): void {
    if (record.state === 'submitted') record.workedFromMs = this.#session.clock.now();
  }

  /** What the turn before said is a message now, and the response starts again. */
  #turn(record: TaskRecord): void {
    // Clients heard it as it was said; what is too long to be kept is not sent again.
    const said = record.isStale || (record.response ?? '').length > maxMessage ? null : record.response;
    record.beginTurn();
    this.#change(record, 'working', said);
  }

  #text(record: TaskRecord, chunk: string): void {
    const text = record.wholeCharacters(chunk);
    if (text === '') return;
    const isFirst = record.response === null || record.isStale;
    const before = isFirst ? '' : (record.response ?? '');
    record.isStale = false;
    if (before.length < maxPartial) record.response = before + text;
    record.version += 1;
    record.tell({ kind: 'text', text, isFirst });
  }

  #callEnded(record: TaskRecord, call: DispatchedCall): void {
    record.changedMs = this.#session.clock.now();
    record.version += 1;
    record.tell({ kind: 'call-ended', call });
  }

  #artifact(record: TaskRecord, name: string, text: string): void {
    const artifact = record.newArtifact(name, text);
    record.version += 1;
    this.#hold(record, costOfOne + text.length, (of) => of.forgetArtifact(artifact));
    record.tell({ kind: 'artifact', artifact });
  }

  #settled(record: TaskRecord): void {
    const { state, result } = record.task;
    if (state === 'completed' && result !== null && (result !== '' || record.response !== null)) {
      record.response = result;
      record.tell({ kind: 'response' });
    }
    if (state === 'completed') this.#files(record);
    record.state = state;
    this.#change(record, state, reasonOf(record));
    this.#dropForgotten();
  }

  #files(record: TaskRecord): void {
    const files = this.#filesSince(record.workedFromMs);
    if (files.length === 0) return;
    const artifact: KeptArtifact = { id: 'files', name: 'files', text: '', files };
    const bytes = files.reduce((sum, { url, filename }) => sum + url.length + filename.length, costOfOne);
    record.artifacts.push(artifact);
    record.version += 1;
    this.#hold(record, bytes, (of) => of.forgetArtifact(artifact));
    record.tell({ kind: 'artifact', artifact });
  }

  #change(record: TaskRecord, state: TaskState, text: string | null, isInputTimeout = false): void {
    record.state = state;
    record.changedMs = this.#session.clock.now();
    record.version += 1;
    record.said = null;
    if (text !== null && text !== '') this.#say(record, text);
    record.tell({ kind: 'state', said: record.said, isInputTimeout });
  }

  #say(record: TaskRecord, text: string): void {
    record.said = record.newMessage('agent', shortened(text, maxMessage));
    this.#keep(record, record.said);
  }

  #keep(record: TaskRecord, message: KeptMessage): void {
    const bytes = bytesOf(message);
    record.version += 1;
    if (record.keep(message, bytes)) this.#hold(record, bytes, (of) => of.forget(message));
  }

  #hold({ id: taskId }: TaskRecord, bytes: number, drop: Held['drop']): void {
    this.#held.add({ taskId, bytes, drop });
    this.#heldBytes += bytes;
    for (const oldest of this.#held) {
      if (this.#heldBytes <= maxTogether) return;
      this.#release(oldest);
    }
  }

  /** Drops records that nobody can ask about any more, unless they stand behind an older one that somebody can. */
  #dropForgotten(): void {
    for (const oldest of this.#held) {
      if (this.#session.board.find(oldest.taskId) !== undefined) return;
      this.#release(oldest);
    }
  }

  #release(held: Held): void {
    this.#held.delete(held);
    this.#heldBytes -= held.bytes;
    const record = this.find(held.taskId);
    if (record !== null) held.drop(record);
  }
}

/** Why a task that is over came to no response; empty for every other. */
function reasonOf({ state, task }: TaskRecord): string {
  if (state !== 'failed' && state !== 'canceled') return '';
  return (state === 'failed' ? task.failure : null) ?? task.statusMessage ?? '';
}
