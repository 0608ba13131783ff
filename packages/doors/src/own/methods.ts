/** The JSON-RPC methods of a capsule. */

import { isLong } from '@svc/kit/yield-to-loop.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import { EncodedJson, JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { parseMessage, type InboundMessage, type ParsedMessage } from '@svc/protocol/message.ts';
import { rejectedMessage } from '@svc/protocol/frames.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import { encodeStopReport } from '@svc/protocol/stop-report.ts';
import { encodeTask, parseTaskId, type TaskObject } from '@svc/protocol/task-object.ts';
import { parseAnswer } from '@svc/protocol/question.ts';
import { decodeMessageTags } from '@svc/protocol/message-tags.ts';
import { decodeTaskSkills, skillsHeader } from '@svc/protocol/task-skills.ts';
import { decodeTaskOrigin, type TaskOrigin } from '@svc/protocol/task-origin.ts';
import type { PreparedText } from '@svc/record/trace/events.ts';
import type { Session } from '@svc/session/session.ts';
import type { Submission } from '@svc/session/loop/task-board.ts';
import { type Task, isTerminal, type TaskSource, type Trust } from '@svc/session/task/task.ts';
import { isOwn, type Principal } from '../callers/principal.ts';
import { may } from '../callers/scopes.ts';

export interface MethodDeps {
  readonly session: Session;
  readonly delegation: DelegationDoor;
  /** Who asks. */
  readonly principal: Principal;
  /** What the session leaves running when its tasks are stopped: background commands, delegated children. */
  readonly residue: () => readonly unknown[];
}

/** What `message/send` and `message/stream` brought. */
export interface ReceivedMessage {
  readonly parsed: ParsedMessage;
  /** The text made ready for the trace, when it has megabytes. */
  readonly prepared?: PreparedText;
}

/**
 * `message/send`: answers the task that waits for input, unless its client `namesAnswers`; else starts one (docs/protocol.md "message/send",
 * "tasks/answer").
 */
export function sendMessage(
  received: ReceivedMessage,
  headers: OriginHeaders,
  { namesAnswers, ...deps }: MethodDeps & { readonly namesAnswers: boolean },
): TaskObject {
  const sourced = sourcedTask(received, headers, deps);
  const before = sentBefore(sourced, deps);
  if (before !== null) return taskObject(before);
  // Neither is a completion an answer, nor what begins with skills.
  const isAnswer = sourced.delegation === null && (sourced.source.skills ?? []).length === 0;
  const mayAnswer = isAnswer && !namesAnswers;
  const answered = mayAnswer ? deps.session.board.answerInput(sourced.source) : null;
  if (answered !== null) return taskObject(answered);
  const submission = submitSourced(sourced, deps);
  return submission.kind === 'accepted' ? taskObject(submission.task) : rejectedTaskObject(submission.task);
}

/** Hands a message to the queue. Faults: `-32602` naming the field, `-32004` for a foreign completion. */
export function submitMessage(received: ReceivedMessage, headers: OriginHeaders, deps: MethodDeps): Submission {
  const sourced = sourcedTask(received, headers, deps);
  const before = sentBefore(sourced, deps);
  return before === null ? submitSourced(sourced, deps) : { kind: 'accepted', task: before };
}

/** The task that the same message became before; `-32602` for the key of another message (docs/protocol.md "Sending again"). */
function sentBefore({ source }: SourcedTask, { session }: MethodDeps): Task | null {
  const before = session.board.sentBefore(source);
  if (before !== 'other') return before;
  throw new JsonRpcFault('invalid-params', 'Invalid params: Idempotency-Key came with another message before');
}

function submitSourced({ source, delegation }: SourcedTask, { session }: MethodDeps): Submission {
  const submission = session.board.submit(source);
  if (submission.kind === 'accepted') delegation?.complete(source.text);
  return submission;
}

function sourcedTask({ parsed, prepared }: ReceivedMessage, headers: OriginHeaders, deps: MethodDeps): SourcedTask {
  if (parsed.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
  const { session, delegation, principal } = deps;
  const header = (name: string): string | undefined => singleHeader(headers[name]);
  const decoded = decodeMessageTags(header);
  if (decoded.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${decoded.problem}`);
  const sourced = taskSource(parsed.message, header, { sessionId: session.id, delegation, principal });
  const skills = skillsOf(header, sourced, session);
  const sender = { principal: principal.name, tags: decoded.tags };
  // A client with a door token cannot raise its own trust.
  const trust = principal.seesAll ? sourced.source.trust : 'untrusted';
  return {
    ...sourced,
    source: { ...sourced.source, trust, sender, skills, ...(prepared === undefined ? {} : { prepared }) },
  };
}

/** Throws the fault `-32602` for skills that a task cannot begin with, and for a completion that names any. */
function skillsOf(header: Header, { source, delegation }: SourcedTask, session: Session): readonly string[] {
  const decoded = decodeTaskSkills(header);
  const invalid = (problem: string) => new JsonRpcFault('invalid-params', `Invalid params: ${skillsHeader} ${problem}`);
  if (decoded.kind === 'invalid') throw invalid(decoded.problem);
  const { skills } = decoded;
  if (skills.length === 0) return skills;
  if (delegation !== null) throw invalid('does not go with a completion');
  const problem = session.skills.problem(skills, source.origin === 'peer' ? 'other capsules' : 'people');
  if (problem !== null) throw invalid(`is no good here: ${problem}`);
  return skills;
}

/** Reads a message so long that each part of the work is done in a turn of its own. */
export async function receiveLongMessage(params: unknown, { board }: Session): Promise<ReceivedMessage> {
  const parsed = parseMessage(params);
  if (parsed.kind === 'invalid' || !isLong(parsed.message.text)) return { parsed };
  return { parsed, prepared: await board.prepare(parsed.message.text) };
}

/** `tasks/get`: the task of `params.id`; without an id the running one, else the last (docs/protocol.md "tasks/get"). */
export function getTask(params: unknown, { session }: Pick<MethodDeps, 'session'>): TaskObject | EncodedJson {
  const id = taskId(params);
  const found = id === undefined ? session.board.current() : session.board.find(id);
  const task = known(found, id);
  return isTerminal(task.reportedState) ? endedTask(task) : taskObject(task);
}

const endedTasks = new WeakMap<Task, { readonly result: string | null; readonly encoded: EncodedJson }>();
/** Longer answers are encoded each time rather than held twice. */
const maxKept = 16 * 1024;

/** Clients that poll ask for an ended task again and again: it is encoded once for each end it comes to. */
function endedTask(task: Task): EncodedJson {
  const { result } = task;
  const kept = endedTasks.get(task);
  if (kept !== undefined && kept.result === result) return kept.encoded;
  const encoded = new EncodedJson(taskObject(task));
  if (encoded.text.length <= maxKept) endedTasks.set(task, { result, encoded });
  return encoded;
}

/**
 * `tasks/cancel`: the task as it then stands; a terminal one is returned unchanged (docs/protocol.md "tasks/cancel"). Without the scope `stop` the
 * tasks of others do not exist; without `read` the answer has nothing of what was said in them.
 */
export async function cancelTask(params: unknown, { session, principal }: MethodDeps): Promise<TaskObject> {
  const id = taskId(params);
  if (id === undefined) throw new JsonRpcFault('invalid-params', 'Invalid params: id is required');
  const found = known(session.board.find(id), id);
  const isTheirs = isOwn(principal, found);
  const task = await session.board.cancel(known(isTheirs || may(principal, 'stop') ? found : null, id), principal.name);
  return isTheirs || may(principal, 'read') ? taskObject(task) : stateObject(task);
}

/**
 * `tasks/answer`: the task, which goes on with the answer. `-32010` where it does not ask that question, or not any more; then nothing has happened
 * (docs/protocol.md "tasks/answer").
 */
export function answerTask(params: unknown, { session, principal }: MethodDeps): TaskObject {
  const parsed = parseAnswer(params);
  if (parsed.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
  const { taskId: id, text } = parsed.answer;
  const task = known(session.board.find(id), id);
  if (session.board.answer(parsed.answer, { text, sender: { principal: principal.name, tags: {} } }))
    return taskObject(task);
  throw new JsonRpcFault('question-not-open', `Question not open: ${task.id} does not wait for this answer`);
}

/** `session/stop`: cancels every live task and reports what stays (D1 "Agent card"). */
export async function stopSession({ session, principal, residue }: MethodDeps): Promise<unknown> {
  const canceled = await session.board.cancelAll(principal.name);
  return encodeStopReport({ sessionId: session.id, canceled, residue: residue() });
}

/** How much of an unknown task id an answer repeats; a real one has 36 characters. */
const maxEcho = 256;

function known(task: Task | null | undefined, id: string | undefined): Task {
  if (task !== null && task !== undefined) return task;
  throw new JsonRpcFault(
    'task-not-found',
    id === undefined ? 'Task not found: no task has run yet' : `Task not found: ${id.slice(0, maxEcho)}`,
  );
}

function taskId(params: unknown): string | undefined {
  const parsed = parseTaskId(params);
  if (parsed.kind === 'id') return parsed.id;
  throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
}

/** The task as it stands: the prompt while it waits for input, the result text once completed (docs/protocol.md "Task objects"). */
export function taskObject(task: Task): TaskObject {
  const { id, contextId, reportedState: state } = task;
  return encodeTask({
    id,
    contextId,
    state,
    message: isTerminal(state) ? task.statusMessage : null,
    prompt: state === 'input-required' ? (task.inputWait?.question.prompt ?? null) : null,
    response: state === 'completed' ? (task.result ?? '') : null,
  });
}

/** The task without what was said in it. */
function stateObject({ id, contextId, reportedState: state }: Task): TaskObject {
  return encodeTask({ id, contextId, state, message: null, prompt: null, response: null });
}

/** A task there was no room for; `tasks/get` does not know it later. */
export function rejectedTaskObject({ id, contextId }: Task): TaskObject {
  return encodeTask({ id, contextId, state: 'rejected', message: rejectedMessage, prompt: null, response: null });
}

/** The headers that say how a task reached the capsule, in lower case as node gives them. */
type OriginHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The delegations that this session started and has not closed; a completion of any other is refused (docs/protocol.md "Origin and trust"). */
export interface DelegationDoor {
  open(delegationId: string): OpenDelegation | null;
}

export interface OpenDelegation {
  /** The context of the task that delegated. */
  readonly contextId: ContextId;
  /** Where the conversation of that task is kept. */
  readonly conversation: ContextId;
  readonly trust: Trust;
  /** Closes it: its completion, with this text, is a task of the session now. */
  complete(text: string): void;
}

interface SourceContext {
  readonly sessionId: SessionId;
  readonly delegation: DelegationDoor;
  readonly principal: Principal;
}

interface SourcedTask {
  readonly source: TaskSource;
  /** The delegation whose end this message reports; null for any other message. */
  readonly delegation: OpenDelegation | null;
}

/** Gives the value of a header that stands once. */
type Header = (name: string) => string | undefined;

/** Origin and trust of a message (docs/protocol.md "Origin and trust"). Throws the fault `-32004` for a completion that is not this session's. */
function taskSource(message: InboundMessage, header: Header, context: SourceContext): SourcedTask {
  const told = decodeTaskOrigin(header);
  const { text } = message;
  if (told.kind === 'completion') {
    const { kind: origin } = told;
    const delegation = delegationOf(told, context);
    // A child that was given an untrusted task cannot give a trusted one back.
    const trust = delegation.trust === 'trusted' ? told.trust : 'untrusted';
    const { contextId, conversation } = delegation;
    return { source: { text, origin, trust, contextId, conversation }, delegation };
  }
  const common = message.contextId === undefined ? { text } : { text, contextId: message.contextId as ContextId };
  const trust = told.kind === 'peer' ? told.trust : 'untrusted';
  return { source: { ...common, origin: told.kind, trust }, delegation: null };
}

function delegationOf(
  origin: Extract<TaskOrigin, { kind: 'completion' }>,
  { sessionId, delegation, principal }: SourceContext,
): OpenDelegation {
  // A child shows what its parent was started with, and no door token is given to any.
  if (!principal.seesAll) {
    throw new JsonRpcFault('completion-refused', 'The completion of a child does not come with a door token');
  }
  if (origin.sessionId !== sessionId) {
    throw new JsonRpcFault(
      'completion-refused',
      'The completion is addressed to a session that is not the one running',
    );
  }
  const open = origin.delegationId === undefined ? null : delegation.open(origin.delegationId);
  if (open !== null) return open;
  throw new JsonRpcFault('completion-refused', 'The completion names no delegation that this session has open');
}
