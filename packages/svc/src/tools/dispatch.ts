/** Carries out one call of the model and turns what comes of it into a result. */

import { toUSVString } from 'node:util';

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { fittingLength } from '@svc/protocol/json-length.ts';
import type { ArgumentCheck } from './argument-check.ts';
import type { OtherTools, Tool, ToolCallContext, ToolKind, ToolOutcome } from './tool.ts';
import { fenceUntrusted } from './untrusted-fence.ts';
import type { TraceEvent } from '../trace/events.ts';
import type { TaskId } from '@svc/protocol/ids.ts';

/** A call as the model made it. `input` is parsed JSON, or the text itself when it is no JSON. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A call that could run now: its tool exists and its arguments fit. */
export interface CheckedCall {
  readonly toolName: string;
  readonly kind: ToolKind;
  readonly callId: string | null;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export type CallVerdict =
  | { readonly kind: 'proceed' }
  /** The call is refused; the reason is what the model is told. */
  | { readonly kind: 'deny'; readonly reason: string };

export interface DispatchContext extends Omit<ToolCallContext, 'callId' | 'tools'> {
  /** Asked before anything of a tool runs. */
  readonly judge: (call: CheckedCall) => Promise<CallVerdict>;
}

/** One call and its result: what an `artifact` frame, a trace line and the model's next message say (D1 "Frame types"). */
export interface DispatchedCall {
  readonly toolName: string;
  readonly kind: ToolKind | 'unknown';
  /** Exactly what the model receives, fenced when `fenceSource` is a string; cut at `longestResultBytes`, which `truncated` tells. */
  readonly content: string;
  readonly fenceSource: string | null;
  /** The content before fencing. Text of a stranger wherever `fenceSource` is a string. */
  readonly unfenced: string;
  /** What another call can be handed of it, unfenced too. */
  readonly output: string;
  readonly callId: string | null;
  readonly isError: boolean;
  /** Whole milliseconds. */
  readonly durationMs: number;
  readonly exitCode: number | null;
  readonly truncated: boolean;
  /** False when nothing of a tool ran: the content is the runtime's own. */
  readonly reached: boolean;
  /** A verdict kept it from running: no frame mentions it (D1 "Frame types", `artifact`). */
  readonly denied: boolean;
}

/** A tool with the check of its arguments. */
export interface CallableTool {
  readonly tool: Tool;
  readonly argumentCheck: ArgumentCheck;
}

interface DispatchDeps {
  readonly find: (name: string) => CallableTool | undefined;
  readonly names: readonly string[];
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The tools that a call of this context may make calls to itself. */
  readonly toolsFor: (context: DispatchContext) => OtherTools;
}

/**
 * Of what one call gives, as the JSON that frames and drivers hold it in: as much as a native tool may answer. NUL characters take six times
 * their number there.
 */
const longestResultBytes: number = 16 * 1024 * 1024;

/** Carries out one call. Rejects only with the reason of an aborted signal, or for a bug. */
export async function dispatchCall(
  call: RequestedCall,
  context: DispatchContext,
  deps: DispatchDeps,
): Promise<DispatchedCall> {
  const startedMs = deps.clock.monotonicMs();
  const callId = call.id === '' ? null : call.id;
  const found = deps.find(call.name);
  const outcome: DispatchOutcome =
    found === undefined
      ? neverReached(unknownTool(call.name, deps.names))
      : await callChecked(found, call.input, { ...context, callId, tools: deps.toolsFor(context) });
  const reached = outcome.reached !== false;
  const fenceSource = reached && found?.tool.kind !== 'skill' ? `tool:${call.name}` : null;
  const { text: content, isCut } = shownText(outcome.content);
  return {
    toolName: call.name,
    kind: found?.tool.kind ?? 'unknown',
    content: fenceSource === null ? content : fenceUntrusted(fenceSource, content),
    fenceSource,
    unfenced: content,
    output: outcome.output === undefined ? content : shownText(outcome.output).text,
    callId,
    isError: !reached || outcome.status !== 'passed',
    durationMs: elapsedMs(deps.clock, startedMs),
    exitCode: reached ? outcome.exitCode : null,
    truncated: reached && (outcome.truncated || isCut),
    reached,
    denied: outcome.denied === true,
  };
}

/** Text of a tool as frame, trace and model hold it: the same for all, so without halves of characters, and cut for all. */
function shownText(given: string): { readonly text: string; readonly isCut: boolean } {
  // Of what is cut off, not even the halves of characters are looked at.
  const text = toUSVString(given.slice(0, longestResultBytes));
  const length = fittingLength(text, longestResultBytes);
  if (length === given.length) return { text, isCut: false };
  const note = `[${given.length - length} more characters are not shown: as JSON, a result has at most ${longestResultBytes} bytes]`;
  return { text: `${text.slice(0, length)}\n${note}`, isCut: true };
}

interface DispatchOutcome extends ToolOutcome {
  readonly denied?: true;
}

async function callChecked(
  found: CallableTool,
  input: unknown,
  context: DispatchContext & ToolCallContext,
): Promise<DispatchOutcome> {
  const { tool, argumentCheck } = found;
  const args = argumentsOf(input);
  if (args === null) return neverReached(`the arguments of ${tool.name} are not a JSON object`);
  const problems = await context.settle(async () => {
    const found = await argumentCheck.problemsOf(args);
    return found.length === 0 ? null : found;
  });
  if (problems !== null) {
    return neverReached([`the arguments of ${tool.name} do not fit its input schema:`, ...problems].join('\n'));
  }
  context.signal.throwIfAborted();
  const { callId, judge } = context;
  const verdict = await judge({ toolName: tool.name, kind: tool.kind, callId, arguments: args });
  if (verdict.kind === 'deny') return { ...neverReached(verdict.reason), denied: true };
  context.signal.throwIfAborted();
  return await tool.call(args, context);
}

/** Providers write the arguments of a call without arguments as empty text or null. */
function argumentsOf(input: unknown): Readonly<Record<string, unknown>> | null {
  if (input === null || input === undefined || input === '') return {};
  if (typeof input !== 'object' || Array.isArray(input)) return null;
  return input as Readonly<Record<string, unknown>>;
}

function unknownTool(name: string, names: readonly string[]): string {
  const asked = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
  const available = names.length === 0 ? 'there are no tools' : `the tools are ${names.join(', ')}`;
  return `there is no tool named ${asked}; ${available}`;
}

/** The outcome of a call of which nothing ran. `content` is the runtime's own words and reaches the model unfenced. */
export function neverReached(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false, reached: false };
}

interface TracedCall {
  readonly taskId: TaskId;
  readonly turn: number;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  readonly call: DispatchedCall;
}

/** The one trace line of a dispatched call; its `duration_ms` is the artifact frame's. */
export function callTrace({ taskId, turn, input, call }: TracedCall): TraceEvent {
  const common = {
    task_id: taskId,
    turn,
    tool_call_id: call.callId,
    arguments: input,
    is_error: call.isError,
    duration_ms: call.durationMs,
    content_bytes: Buffer.byteLength(call.content),
  };
  const outcome = { exit_code: call.exitCode, truncated: call.truncated };
  switch (call.kind) {
    case 'skill':
      return { event_type: 'skill_call', ...common, skill_name: call.toolName };
    case 'shell':
      return { event_type: 'shell', ...common, ...outcome, command_name: call.toolName };
    case 'wasm':
    case 'native':
    case 'mcp':
    case 'runtime':
    case 'unknown':
      return { event_type: 'tool_call', ...common, ...outcome, tool_name: call.toolName, tool_kind: call.kind };
  }
}
