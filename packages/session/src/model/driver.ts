/** What a driver is asked and what it answers. */

import type { CallImports } from '@svc/components/import-log.ts';
import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import type { RetryWait, ReportedUsage } from './driver-notes.ts';

/** One piece of a message. `input` of a tool call is the parsed JSON the model gave. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string; readonly signature?: string }
  | {
      readonly type: 'tool_call';
      readonly id: string;
      readonly name: string;
      readonly input: unknown;
      /** The digits of the numbers in `input` that JavaScript cannot hold as the model wrote them. */
      readonly digits?: Digits;
    };

export type Message =
  | { readonly role: 'user' | 'assistant'; readonly content: readonly ContentBlock[] }
  | {
      readonly role: 'tool';
      readonly content: readonly ContentBlock[];
      readonly toolCallId: string;
      readonly isError: boolean;
    };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface InferenceRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  readonly continuationId?: string;
}

/** A response as the driver gave it. `stopReason` is kept as text: an unknown one fails the task (docs/drivers.md "Requests and responses"). */
export interface InferenceResponse {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string;
  readonly error?: string;
  readonly usage?: ReportedUsage;
  readonly continuationId?: string;
}

/** Why the model is asked again: a clause, and the status of HTTP where the provider answered with one. */
export interface RetryReason {
  readonly reason: string;
  readonly status: number | null;
}

/** What a driver call came to. */
export type DriverOutcome = { readonly kind: 'response'; readonly response: InferenceResponse } | DriverFailure;

/**
 * Why there is no response to go on with. It ends the task as it is: the state table of tasks takes it (`step` in session/task.ts).
 * Only `malformed` does so without a final frame (D1 "Task states" 2).
 */
export type DriverFailure =
  /** The driver ran and failed: a provider error, an exit before the response, a wrong one. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      /** Its component broke off. */
      readonly trapped?: boolean;
      /** What `error` begins with, when `svc` itself ended the call. */
      readonly code?: DiagnosticCode;
      /** What an operator can do about it. */
      readonly hint?: string;
      /** Whether the same request may be answered later; absent where that is not known. */
      readonly retryable?: boolean;
    }
  /** The driver could not be called at all: it cannot be loaded or started. */
  | { readonly kind: 'unavailable'; readonly error: string }
  /** A line of a process driver that is not JSON. */
  | { readonly kind: 'malformed'; readonly error: string };

/** A failure that has a code, by which an operator finds what to do about it. */
export function codedFailure(code: DiagnosticCode, message: string, hint?: string): DriverFailure {
  return { kind: 'failed', error: `${code}: ${message}`, code, ...(hint === undefined ? {} : { hint }) };
}

/** What a call of the model came to, as the model is to read it. */
export interface ToolAnswer {
  readonly content: string;
  readonly isError: boolean;
}

export interface InferenceCall {
  /** Where the call stands in its session. */
  readonly place: string;
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
  readonly onThinking: (text: string) => void;
  /** Called for each sign of life of the model that is not shown to anybody. */
  readonly onSign?: () => void;
  /** Called for each request that goes out to the provider, with its host, and the port where that is not the scheme's own. */
  readonly onRequest?: (host: string) => void;
  /** Called when the first bytes of an answer of the model have come. */
  readonly onFirstBytes?: () => void;
  /** Called when the driver waits before it asks the model again. The driver reports the repetition too, once it comes. */
  readonly onRetryWait?: (wait: RetryWait, why: RetryReason) => void;
  /** Called when the driver asks the model again within the call; `reason` is a clause. */
  readonly onRetry?: (reason: string) => void;
  /**
   * Carries out a call in the middle of the inference, for a driver whose program runs a loop of its own: judged, shown and
   * traced like every other. Rejects with the signal's reason on cancel.
   */
  readonly callTool: (call: Extract<ContentBlock, { type: 'tool_call' }>) => Promise<ToolAnswer>;
  /** Imports, where they are recorded or played. */
  readonly imports?: CallImports;
}

/**
 * The model, as the agent loop sees it. `openTask` is called once per task and attempt, `infer` once per turn, one at a time.
 * An aborted signal makes `infer` settle soon; what it settles to is then ignored.
 */
export interface Driver {
  /** Artifact or command name, for the `driver:` line (D1 "Human-readable run output"). */
  readonly label: string;
  openTask(): DriverTask;
  close(): Promise<void>;
}

export interface DriverTask {
  infer(request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome>;
  /** Ends what the task holds open (a process driver's child). Idempotent. */
  close(): Promise<void>;
}

/** What a failure says, in characters: status, result file and trace repeat it. */
const maxError = 16 * 1024;

/** An outcome whose failure, its own or the provider's, went through `redact`, since either may repeat a key, and is cut where it is too long. */
export function redactedOutcome(outcome: DriverOutcome, redact: (text: string) => string): DriverOutcome {
  const shown = (error: string): string => {
    const text = redact(error);
    return shortened(text, maxError);
  };
  if (outcome.kind !== 'response') return { ...outcome, error: shown(outcome.error) };
  const { response } = outcome;
  if (response.error === undefined) return outcome;
  return { kind: 'response', response: { ...response, error: shown(response.error) } };
}

export type ToolCallBlock = Extract<ContentBlock, { type: 'tool_call' }>;

type Verdict =
  /** The task is done; `reply` is the text blocks joined by newlines. */
  | { readonly kind: 'complete'; readonly reply: string }
  /** At least one call, in the order the model made them. */
  | { readonly kind: 'calls'; readonly calls: readonly ToolCallBlock[] }
  /** The response was read but is wrong; `error` is the sentence for `out/result.txt`. */
  | Failed;

type Failed = Extract<DriverFailure, { kind: 'failed' }>;

/** How many calls one response may make. No model makes so many, and each is a frame and a line of the trace. */
const maxCalls = 1_024;
/** How many characters the name of a call may have, and a stop reason: frame, trace and conversation repeat them. */
const maxName = 4_096;
/** How many the id of a call may have, in which some servers keep what they want back, and a continuation id: both come with each request that follows. */
const maxId = 64 * 1024;

/**
 * What a response means for its task; the stop reason alone decides (docs/drivers.md "Requests and responses"), unless a part of it is longer than any
 * that is meant.
 */
export function judgeResponse(response: InferenceResponse): Verdict {
  const oversize = judgeSize(response);
  if (oversize !== null) return oversize;
  switch (response.stopReason) {
    case 'end_turn':
    case 'max_tokens':
      return { kind: 'complete', reply: replyOf(response.content) };
    case 'tool_call':
      return judgeCalls(response.content);
    case 'error':
      return { kind: 'failed', error: response.error || 'the driver reported an error without a text' };
    default:
      return unknownStop(response.stopReason);
  }
}

/** Returns what is wrong with a response that has a part of absurd length; null for every other, whatever its stop reason. */
export function judgeSize({ content, continuationId, stopReason }: InferenceResponse): Failed | null {
  if ((continuationId?.length ?? 0) > maxId) {
    return failed(`gave a continuation id of more than ${maxId} characters`);
  }
  if (stopReason.length > maxName) return unknownStop(stopReason);
  const calls = content.filter((block) => block.type === 'tool_call');
  if (calls.length > maxCalls) return failed(`gave more than ${maxCalls} tool calls at once`);
  if (calls.some(({ id }) => id.length > maxId)) {
    return failed(`gave a tool call with an id of more than ${maxId} characters`);
  }
  if (calls.some(({ name }) => name.length > maxName)) {
    return failed(`gave a tool call with a name of more than ${maxName} characters`);
  }
  return null;
}

function replyOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function judgeCalls(content: readonly ContentBlock[]): Verdict {
  const calls = content.filter((block) => block.type === 'tool_call');
  if (calls.length === 0) return failed('announced a tool call and gave none');
  return { kind: 'calls', calls };
}

function unknownStop(reason: string): Failed {
  return failed(`gave an unknown stop reason: ${JSON.stringify(shortened(reason, 100))}`);
}

function failed(what: string): Failed {
  return { kind: 'failed', error: `the driver ${what}` };
}
