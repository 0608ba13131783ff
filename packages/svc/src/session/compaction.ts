/** Lets hooks shorten a conversation that nears what its model can take. */

import type { CompactionVerdict, HookedTask, SessionHooks } from '../hooks/session-hooks.ts';
import type { InferenceRequest, Message, Usage, ContentBlock } from '../inference/driver.ts';
import type { TraceEvent } from '../trace/events.ts';
import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TaskFailure } from './task.ts';
import { estimateRequest, estimateTokens } from '../inference/spend-meter.ts';

interface CompactionDeps {
  readonly hooks: SessionHooks;
  readonly hooked: HookedTask;
  readonly clock: Clock;
  readonly record: (event: TraceEvent) => void;
}

export type Compaction =
  /** The request goes out as it is. */
  | { readonly kind: 'none' }
  | { readonly kind: 'replaced'; readonly messages: readonly Message[] }
  /** The task fails (D1 "Task states"). */
  | Extract<TaskFailure, { kind: 'failed' }>;

/** Asks the hooks for a shorter conversation when a request nears the limit of its model. */
export async function compactIfNear(
  request: InferenceRequest,
  window: ContextWindow,
  { hooks, hooked, clock, record }: CompactionDeps,
): Promise<Compaction> {
  const overflow = window.overflow(request);
  if (overflow === null) return { kind: 'none' };
  const startedMs = clock.monotonicMs();
  const { messages } = request;
  const verdict = await hooks.compact(hooked, { messages, ...overflow });
  if (verdict.kind === 'nobody' || hooked.signal.aborted) return { kind: 'none' };
  const compaction = judged(verdict);
  if (verdict.kind === 'replaced' && compaction.kind === 'failed') hooks.refused('on-compaction', compaction.error);
  record({
    event_type: 'compaction',
    task_id: hooked.id,
    outcome: verdict.kind === 'unchanged' ? 'unchanged' : compaction.kind === 'replaced' ? 'replaced' : 'failed',
    ...(compaction.kind === 'failed' ? { error: compaction.error } : {}),
    ...(verdict.kind === 'unchanged' ? {} : { hook_name: verdict.hookName }),
    estimated_tokens: overflow.estimatedTokens,
    max_tokens: overflow.maxTokens,
    messages_before: messages.length,
    messages_after: compaction.kind === 'replaced' ? compaction.messages.length : messages.length,
    duration_ms: elapsedMs(clock, startedMs),
  });
  if (compaction.kind !== 'failed') return compaction;
  return { kind: 'failed', error: `the conversation could not be compacted: ${compaction.error}` };
}

function judged(verdict: Exclude<CompactionVerdict, { kind: 'nobody' }>): Compaction {
  if (verdict.kind === 'failed') return { kind: 'failed', error: verdict.error };
  if (verdict.kind === 'unchanged') return { kind: 'none' };
  const problem = contextProblem(verdict.messages);
  return problem === null ? { kind: 'replaced', messages: verdict.messages } : { kind: 'failed', error: problem };
}

export interface ContextLimit {
  /** `inference.context.max_tokens`; null when the manifest names none, and then nothing is ever compacted. */
  readonly maxTokens: number | null;
  /** `inference.compaction.threshold`, the part of it that may be used. */
  readonly threshold: number;
}

interface Measured {
  /** Messages that the count covers. */
  readonly messages: number;
  readonly tokens: number;
}

/** How much of a model's context a conversation takes: what the provider counted last, and an estimate of what came since. */
export class ContextWindow {
  readonly #limit: ContextLimit;
  #measured: Measured | null = null;

  constructor(limit: ContextLimit) {
    this.#limit = limit;
  }

  /** Takes the provider's count of a call; `messages` is the conversation with the response. */
  measured(messages: readonly Message[], { inputTokens, outputTokens }: Usage): void {
    this.#measured = { messages: messages.length, tokens: inputTokens + outputTokens };
  }

  /** What is to be compacted before this request; null while there is room (docs/manifest.md "Keys"). */
  overflow(request: InferenceRequest): { readonly estimatedTokens: number; readonly maxTokens: number } | null {
    const { maxTokens, threshold } = this.#limit;
    if (maxTokens === null) return null;
    const estimatedTokens = this.#estimate(request);
    return estimatedTokens > maxTokens * threshold ? { estimatedTokens, maxTokens } : null;
  }

  #estimate(request: InferenceRequest): number {
    const byLength = estimateRequest(request);
    if (this.#measured === null) return byLength;
    const added = request.messages.slice(this.#measured.messages);
    // A provider that counts nothing, or a cached part of it, must not hide how long the text is.
    return Math.max(this.#measured.tokens + estimateTokens(added), byLength);
  }
}

/**
 * Why a conversation cannot stand in for the one it was made of; null when it can. The model's provider refuses a call without its
 * result and a result without its call, so the two stay or go together.
 */
export function contextProblem(messages: readonly Message[]): string | null {
  const [first] = messages;
  if (first === undefined) return 'the conversation is empty';
  if (first.role !== 'user') return `the conversation begins with a message of the ${first.role}`;
  if (messages.at(-1)?.role === 'assistant') return 'the conversation ends with a message of the assistant';
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.toolCallId))
        return `a result answers ${quoted(message.toolCallId)}, which nothing called`;
      open = without(open, message.toolCallId);
      continue;
    }
    if (open.length > 0) return `the call ${quoted(open[0])} has lost its result`;
    open = message.role === 'assistant' ? message.content.flatMap(callId) : [];
  }
  return open.length === 0 ? null : `the call ${quoted(open[0])} has lost its result`;
}

function callId(block: ContentBlock): string[] {
  return block.type === 'tool_call' ? [block.id] : [];
}

/** Without the first of them: a provider may give several calls one id, or none. */
function without(ids: readonly string[], id: string): string[] {
  return ids.toSpliced(ids.indexOf(id), 1);
}

function quoted(id = ''): string {
  return JSON.stringify(shortened(id, 60));
}

/** How many characters the conversation of a running task may have. Each turn encodes all of it; a task that goes beyond this fails. */
export const longestConversation: number = 32 * 1024 * 1024;

const lengths = new WeakMap<Message, number>();

/** Characters of all that a conversation holds. Each message is measured once: a turn asks for all of them again. */
export function conversationLength(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageLength(message), 0);
}

function messageLength(message: Message): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const length = message.content.reduce((sum, block) => sum + blockLength(block), 0);
  lengths.set(message, length);
  return length;
}

function blockLength(block: ContentBlock): number {
  return block.type === 'tool_call' ? JSON.stringify(block.input ?? null).length : block.text.length;
}
