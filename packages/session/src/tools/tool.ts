/** What a tool is, to the session that calls it. */

import type { CallImports } from '@svc/components/import-log.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import type { HeldRequest, RequestJudge } from '@svc/kit/keys/bound-host.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { NarrowedLaunch, StartedProgram } from '@svc/sandbox/launcher.ts';
import type { HostQuestions } from './asked-hosts.ts';
import type { Permit } from './skills/allowed-tools.ts';

/** Why nothing of a call ran that the model made. */
export interface CallRefusal {
  /** A rule in words: `not offered`, `input_schema`, or the reason of a hook. */
  readonly rule: string;
  /** `svc`, or the name of a hook. */
  readonly by: string;
}

/** A call that could run now: its tool exists and its arguments fit. */
export interface CheckedCall {
  readonly toolName: string;
  readonly kind: ToolKind;
  /** The artifact that brings the tool, where that has another name. */
  readonly artifact?: string | undefined;
  readonly callId: string | null;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly digits?: Digits | undefined;
  /** Where it stands in its session, as in `ToolCallContext`. */
  readonly place: string;
}

export type CallVerdict =
  | { readonly kind: 'proceed' }
  /**
   * The call is refused; the model receives the reason. `by` names the hook, or is `approvals`; absent where the task was canceled. With `isShown`,
   * clients receive it as the result of a tool that failed.
   */
  | { readonly kind: 'deny'; readonly reason: string; readonly by?: string; readonly isShown?: true };

/** Asks about the requests of one call. */
export interface RequestQuestions extends Pick<RequestJudge, 'asks'> {
  /** Rejects as `requestInput` does. */
  readonly ask: (request: HeldRequest) => Promise<CallVerdict>;
  /** Returns the id of the question about this request that waits for a person; null where none does. */
  readonly open: (request: HeldRequest) => string | null;
  /** Called with the request that is being asked about, or was just allowed, once nobody waits for it any more: it does not go out. */
  readonly left: (request: HeldRequest) => void;
}

/** Asks about the programs that the command of one call starts. */
export interface ProgramQuestions {
  /** Whether nobody is asked about it. What was decided with the call itself passes once. */
  readonly passes: (program: StartedProgram) => boolean;
  /** Rejects as `requestInput` does. */
  readonly ask: (program: StartedProgram) => Promise<CallVerdict>;
}

/** What the skills in use of a task say to a call. */
export type CeilingVerdict =
  /** `narrowed` is null where a launch of the call has all that it is granted. */
  | { readonly kind: 'allowed'; readonly narrowed: NarrowedLaunch | null }
  | { readonly kind: 'refused'; readonly reason: string; readonly rule: string };

/** Holds the calls of tasks to the lists of the skills that these use. */
export interface CallCeiling {
  judge(taskId: string, tool: Tool, args: Readonly<Record<string, unknown>>): CeilingVerdict;
  /** The text of a skill has been given to a task. */
  use(taskId: string, skill: string): void;
  /** Why no task can use all of these at once, as a clause; null where it can. */
  clash(skills: readonly string[]): string | null;
  /** The task has settled. */
  ended(taskId: string): void;
}

/** Whether a call was let through. */
export interface JudgedDispatch {
  readonly name: string;
  readonly kind: ToolKind | 'unknown';
  /** It is null for a call that ran, or that could not run for another reason. */
  readonly refusal: CallRefusal | null;
}

/** Where a tool came from; `mcp` is one of an MCP server, `shell` is one command of `capabilities.shell.allow`, `runtime` is built into `svc`. */
export type ToolKind = 'wasm' | 'native' | 'mcp' | 'skill' | 'shell' | 'runtime';

export type InputAnswer = { readonly kind: 'answered'; readonly text: string } | { readonly kind: 'timed-out' };

export interface ToolCallContext {
  readonly taskId: string;
  /** Where the call stands in its session: `<task>/<attempt>/m<turn>/t<call>`, and `/s<step>` for a step of a plan. */
  readonly place: string;
  /** The provider's id of the call; null when it gave none or an empty one. */
  readonly callId: string | null;
  /** The digits of the numbers in the arguments that JavaScript cannot hold as the model wrote them. */
  readonly digits?: Digits | undefined;
  /** Aborted when the task is canceled; the call then settles soon and its outcome is ignored. */
  readonly signal: AbortSignal;
  readonly emitText: (text: string) => void;
  readonly emitThinking: (text: string) => void;
  /** Puts the task into `input-required` until someone answers (D1 "Task states"). Rejects with the signal's reason on cancel. */
  readonly requestInput: (prompt: string) => Promise<InputAnswer>;
  /** Asks about hosts that a command was not granted; absent where nobody is asked. */
  readonly hosts?: HostQuestions | undefined;
  /** Asks about requests of the call; absent of a session without approvals. */
  readonly requests?: RequestQuestions | undefined;
  /** Asks about programs that the call starts; absent of a session without approvals. */
  readonly programs?: ProgramQuestions | undefined;
  /** What else the model can call, for a tool that makes calls of its own. */
  readonly tools: OtherTools;
  /** Has hooks judge what a tool does without a dispatch of `tools`. */
  readonly judge: (call: CheckedCall) => Promise<CallVerdict>;
  /** Has the rules of approvals judge what the component of the call is about to change; absent of a session without them. */
  readonly judgeChange?: (change: FileOperation) => Promise<CallVerdict>;
  /** Called with each call that was judged. */
  readonly onJudged?: (call: JudgedDispatch) => void;
  /**
   * Runs an internal check so that its result is recorded. Resolves to null unless it found something unusual (plain JSON).
   */
  readonly settle: <T>(look: () => Promise<T | null>) => Promise<T | null>;
  /** Writes a line of the trace beside that of the call. False once that is impossible: the session ends with this call, so nothing more is to start. */
  readonly record: (event: TraceEvent) => boolean;
  /** Hears what a command writes while its call lasts, as it comes. Nothing of the session depends on it. */
  readonly onOutput?: (command: RunningCommand, bytes: Buffer) => void;
  /** Called with a file that a component asked for and its directories do not give it; `rule` is a WASI code: `not-permitted`, `access`, `read-only`. */
  readonly onFileRefused?: (path: string, rule: string) => void;
  /** Called with a file that the call has changed, where somebody wants to know what it holds. */
  readonly onFileChanged?: ((change: FileChange) => void) | undefined;
  /** Whether a command is waited for however long it takes, instead of going on in the background. */
  readonly isAwaited?: boolean;
  /** What a launch of the call does not get; absent where it has all that it is granted. */
  readonly narrowed?: NarrowedLaunch | null;
  /** Imports, where they are recorded or played. */
  readonly imports?: CallImports;
}

/** What a component is about to do to a file, links on the way followed. Paths are as it sees them, without the `/` before them. */
export interface FileOperation {
  /** `write` opens a file for writing, or makes it; `directory` makes or removes an empty one. */
  readonly operation: 'write' | 'remove' | 'rename' | 'link' | 'directory';
  readonly path: string;
  /** Where a rename leads; else null. */
  readonly to: string | null;
  /** It is a directory that is renamed, with all below it, or a link, which leads elsewhere. */
  readonly isTree: boolean;
  /** The file that is opened has other names too. */
  readonly isLinked: boolean;
}

/** What a call of the editor did to a file. */
export interface FileChange {
  /** Absolute, on the host. */
  readonly path: string;
  /** It is null if there was no file; so is `after` if it is gone. */
  readonly before: ChangedContent | null;
  readonly after: ChangedContent | null;
}

/** What a file holds; `bytes` is absent of one that is larger than 1 MiB. */
export interface ChangedContent {
  readonly bytes?: Buffer;
}

/** A command whose output the session reports. */
export interface RunningCommand {
  readonly name: string;
  /** Distinguishes the commands of a session. */
  readonly number: number;
  readonly output: 'stdout' | 'stderr';
}

/** A call as the model made it. `input` is parsed JSON, or the text itself when it is no JSON. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The digits of the numbers in `input` that JavaScript cannot hold as the model wrote them. */
  readonly digits?: Digits;
}

/** One call and its result: what an `artifact` frame, a trace line and the model's next message say (D1 "Frame types"). */
export interface DispatchedCall {
  readonly toolName: string;
  readonly kind: ToolKind | 'unknown';
  /** Exactly what the model receives, fenced when `fenceSource` is a string; `truncated` says that it was cut at `maxResultBytes`. */
  readonly content: string;
  readonly fenceSource: string | null;
  /** The content before fencing. Text of a stranger wherever `fenceSource` is a string. */
  readonly unfenced: string;
  /** What another call can be handed of it, unfenced too. */
  readonly output: string;
  readonly callId: string | null;
  readonly isError: boolean;
  /** When it began, in Unix milliseconds. */
  readonly startMs: number;
  /** Whole milliseconds. */
  readonly durationMs: number;
  readonly exitCode: number | null;
  readonly truncated: boolean;
  /** False when nothing of a tool ran: the content is the runtime's own. */
  readonly reached: boolean;
  /** A verdict kept it from running: no frame mentions it (D1 "Frame types", `artifact`). */
  readonly denied: boolean;
}

/** The tools of the session, under the task of the call at hand. */
export interface OtherTools {
  kindOf(name: string): ToolKind | undefined;
  /** Carries out a call for a step as if the model had made it: checked, judged by hooks, fenced. It writes no frame and no line of its own. */
  dispatch(call: RequestedCall, step: string): Promise<DispatchedCall>;
}

export interface ToolOutcome {
  readonly status: 'passed' | 'failed';
  /** What the model is to receive, before fencing. */
  readonly content: string;
  /** What another tool can be handed of it, where that is not the content: of a command its standard output alone. */
  readonly output?: string;
  /** The exit code of a subprocess that ran to completion; null otherwise (D1 "Frame types", `artifact`). */
  readonly exitCode: number | null;
  readonly truncated: boolean;
  /** False when nothing of the tool ran; `content` is then the runtime's own and is not fenced. True when absent. */
  readonly reached?: boolean;
}

/** The outcome of a call that ran nothing. `content` is the runtime's own words and reaches the model unfenced. */
export function neverReached(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false, reached: false };
}

/** A tool as the model sees it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  /** JSON Schema of the arguments; checked before a call. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** Something the model can call. Expected failures are outcomes; a rejection is a bug or a cancel. */
export interface Tool extends ToolDeclaration {
  /** The artifact it belongs to; absent when it has that name itself, or belongs to none. */
  readonly artifact?: string;
  /** What its MCP server calls it; absent where the manifest gives it no other name. */
  readonly listedAs?: string;
  call(args: Readonly<Record<string, unknown>>, context: ToolCallContext): Promise<ToolOutcome>;
  /** What the list of a skill allows while it is in use; absent of a skill without one, and of everything else. */
  readonly permits?: readonly Permit[];
  /** Whose calls of a skill alone are answered: those of people, or those of the model; absent where it is both. */
  readonly callers?: 'people' | 'model';
  /** Runs here, and reaches nothing outside but by calls of its own. */
  readonly isOwn?: true;
  /** Gets ready for a call that may come soon. That call reports what goes wrong here. */
  warm?(): void;
}
