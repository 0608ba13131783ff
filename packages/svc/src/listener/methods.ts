import type { Session } from '../session/session.ts';
import type { PreparedText } from '../trace/trace.ts';
import type { Submission } from '../session/task-board.ts';
import type { Task } from '../session/task.ts';
import { isTerminal } from '../session/task-state.ts';
import { EncodedJson, JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { parseMessage, type ParsedMessage } from '@svc/protocol/message.ts';
import { taskSource, type DelegationDoor, type OriginHeaders, type SourcedTask } from './task-source.ts';
import { rejectedTaskObject, taskObject, type TaskObject } from './task-object.ts';

export interface MethodDeps {
  readonly session: Session;
  readonly delegation: DelegationDoor;
  /** What the session leaves running when its tasks are stopped: background commands, delegated children. */
  readonly residue: () => readonly unknown[];
}

/** What `message/send` and `message/stream` brought. */
export interface ReceivedMessage {
  readonly parsed: ParsedMessage;
  /** Of a text of megabytes. */
  readonly prepared?: PreparedText;
}

export interface StopReport {
  readonly session_id: string;
  readonly canceled: readonly string[];
  readonly residue: readonly unknown[];
}

/** `message/send`: answers the task that waits for input, else starts one (contracts §6). */
export function sendMessage(received: ReceivedMessage, headers: OriginHeaders, deps: MethodDeps): TaskObject {
  const sourced = sourcedTask(received, headers, deps);
  // A completion is nobody's answer.
  const answered = sourced.delegation === null ? deps.session.board.answerInput(sourced.source.text) : null;
  if (answered !== null) return taskObject(answered);
  const submission = submitSourced(sourced, deps);
  return submission.kind === 'accepted' ? taskObject(submission.task) : rejectedTaskObject(submission.task);
}

/** Hands a message to the queue. Faults: `-32602` naming the field, `-32004` for a foreign completion. */
export function submitMessage(received: ReceivedMessage, headers: OriginHeaders, deps: MethodDeps): Submission {
  return submitSourced(sourcedTask(received, headers, deps), deps);
}

function submitSourced({ source, delegation }: SourcedTask, { session }: MethodDeps): Submission {
  const submission = session.board.submit(source);
  if (submission.kind === 'accepted') delegation?.complete(source.text);
  return submission;
}

function sourcedTask({ parsed, prepared }: ReceivedMessage, headers: OriginHeaders, deps: MethodDeps): SourcedTask {
  if (parsed.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
  const { session, delegation } = deps;
  const sourced = taskSource(parsed.message, headers, { sessionId: session.id, delegation });
  return prepared === undefined ? sourced : { ...sourced, source: { ...sourced.source, prepared } };
}

/** Reads a message so long that each part of the work is done in a turn of its own. */
export async function receiveLongMessage(params: unknown, { session }: MethodDeps): Promise<ReceivedMessage> {
  const parsed = parseMessage(params);
  if (parsed.kind === 'invalid' || parsed.message.text.length <= longText) return { parsed };
  return { parsed, prepared: await session.board.prepare(parsed.message.text) };
}

/** Recording one of this many characters takes some milliseconds. */
const longText = 1024 * 1024;

/** `tasks/get`: the task of `params.id`; without an id the running one, else the last (contracts §6). */
export function getTask(params: unknown, { session }: MethodDeps): TaskObject | EncodedJson {
  const id = taskId(params);
  const found = id === undefined ? session.board.current() : session.board.find(id);
  const task = known(found, id);
  return isTerminal(task.toldState) ? endedTask(task) : taskObject(task);
}

const endedTasks = new WeakMap<Task, { readonly result: string | null; readonly encoded: EncodedJson }>();
/** Longer answers are encoded each time rather than held twice. */
const longestKept = 16 * 1024;

/** Clients that poll ask for an ended task again and again: it is encoded once for each end it comes to. */
function endedTask(task: Task): EncodedJson {
  const { result } = task;
  const kept = endedTasks.get(task);
  if (kept !== undefined && kept.result === result) return kept.encoded;
  const encoded = new EncodedJson(taskObject(task));
  if (encoded.text.length <= longestKept) endedTasks.set(task, { result, encoded });
  return encoded;
}

/** `tasks/cancel`: the task as it then stands; a terminal one is returned unchanged (contracts §6). */
export async function cancelTask(params: unknown, { session }: MethodDeps): Promise<TaskObject> {
  const id = taskId(params);
  if (id === undefined) throw new JsonRpcFault('invalid-params', 'Invalid params: id is required');
  return taskObject(await session.board.cancel(known(session.board.find(id), id)));
}

/** `session/stop`: cancels every live task and reports what stays (D1 "Agent card"). */
export async function stopSession({ session, residue }: MethodDeps): Promise<StopReport> {
  const canceled = await session.board.cancelAll();
  return { session_id: session.id, canceled, residue: residue() };
}

/** Of an id that is none; each of ours has 36 characters. */
const longestEcho = 256;

function known(task: Task | null | undefined, id: string | undefined): Task {
  if (task !== null && task !== undefined) return task;
  throw new JsonRpcFault(
    'task-not-found',
    id === undefined ? 'Task not found: no task has run yet' : `Task not found: ${id.slice(0, longestEcho)}`,
  );
}

function taskId(params: unknown): string | undefined {
  if (params === undefined) return undefined;
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new JsonRpcFault('invalid-params', 'Invalid params: params must be an object');
  }
  const id = (params as Readonly<Record<string, unknown>>)['id'];
  if (id === undefined || typeof id === 'string') return id;
  throw new JsonRpcFault('invalid-params', 'Invalid params: id must be a string');
}
