import type { Session } from '../session/session.ts';
import type { PreparedText } from '../trace/trace.ts';
import type { Submission } from '../session/task-board.ts';
import { type Task, isTerminal, type TaskState, type TaskSource, type Trust } from '../session/task.ts';
import { EncodedJson, JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { parseMessage, type InboundMessage, type ParsedMessage } from '@svc/protocol/message.ts';
import { rejectedMessage } from '@svc/protocol/frames.ts';
import { singleHeader } from '@svc/kit/http/single-header.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';

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

/** A task as `message/send`, `tasks/get` and `tasks/cancel` answer it (contracts §6). */
export interface TaskObject {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: TaskState | 'rejected'; readonly message?: string };
  readonly artifacts?: readonly TaskArtifact[];
}

export interface TaskArtifact {
  readonly name: 'prompt' | 'response';
  readonly parts: readonly { readonly text: string }[];
}

/** The task as it stands: the prompt while it waits for input, the result text once completed. */
function taskObject(task: Task): TaskObject {
  const { id, contextId, toldState: state } = task;
  const prompt = task.inputWait?.prompt;
  if (state === 'input-required' && prompt !== undefined) {
    return { id, contextId, status: { state }, artifacts: [textArtifact('prompt', prompt)] };
  }
  if (!isTerminal(state)) return { id, contextId, status: { state } };
  const status = { state, ...(task.statusMessage === null ? {} : { message: task.statusMessage }) };
  if (state !== 'completed') return { id, contextId, status };
  return { id, contextId, status, artifacts: [textArtifact('response', task.result ?? '')] };
}

/** A task there was no room for; `tasks/get` does not know it later. */
function rejectedTaskObject(task: Task): TaskObject {
  const status = { state: 'rejected', message: rejectedMessage } as const;
  return { id: task.id, contextId: task.contextId, status };
}

function textArtifact(name: TaskArtifact['name'], text: string): TaskArtifact {
  return { name, parts: [{ text }] };
}

/** The headers that tell how a task reached the capsule, in lower case as node gives them. */
export type OriginHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The delegations that this session started and has not closed; a completion of any other is refused (contracts §7). */
export interface DelegationDoor {
  open(delegationId: string): OpenDelegation | null;
}

export interface OpenDelegation {
  /** Of the task that delegated. */
  readonly contextId: ContextId;
  readonly trust: Trust;
  /** Closes it: its completion, with this text, is a task of the session now. */
  complete(text: string): void;
}

export interface SourceContext {
  readonly sessionId: SessionId;
  readonly delegation: DelegationDoor;
}

export interface SourcedTask {
  readonly source: TaskSource;
  /** Of a completion; null otherwise. */
  readonly delegation: OpenDelegation | null;
}

/** Origin and trust of a message (contracts §7). Throws the fault `-32004` for a completion that is not this session's. */
function taskSource(message: InboundMessage, headers: OriginHeaders, context: SourceContext): SourcedTask {
  const origin = singleHeader(headers['x-svc-task-origin']);
  const { text } = message;
  if (origin === 'completion') {
    const delegation = delegationOf(headers, context);
    // A child that was given an untrusted task cannot give a trusted one back.
    const trust = delegation.trust === 'trusted' ? trustOf(headers) : 'untrusted';
    return { source: { text, origin, trust, contextId: delegation.contextId }, delegation };
  }
  const common = message.contextId === undefined ? { text } : { text, contextId: message.contextId as ContextId };
  const source: TaskSource =
    origin === 'peer'
      ? { ...common, origin, trust: trustOf(headers) }
      : { ...common, origin: 'message', trust: 'untrusted' };
  return { source, delegation: null };
}

/** The delegation headers are read only for a completion (D2 "Events" 3). */
function delegationOf(headers: OriginHeaders, { sessionId, delegation }: SourceContext): OpenDelegation {
  if (singleHeader(headers['x-svc-completion-session']) !== sessionId) {
    throw new JsonRpcFault(
      'completion-refused',
      'The completion is addressed to a session that is not the one running',
    );
  }
  const delegationId = singleHeader(headers['x-svc-delegation-id']);
  const open = delegationId === undefined ? null : delegation.open(delegationId);
  if (open !== null) return open;
  throw new JsonRpcFault('completion-refused', 'The completion names no delegation that this session has open');
}

function trustOf(headers: OriginHeaders): Trust {
  return singleHeader(headers['x-svc-task-trust']) === 'trusted' ? 'trusted' : 'untrusted';
}
