/** Lets hooks shorten a conversation that nears what its model can take. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { CompactionVerdict, HookedTask, SessionHooks } from '../hooks/session-hooks.ts';
import type { ContentBlock, Message } from '../model/driver.ts';
import type { TaskFailure } from '../task/task.ts';
import type { GivenSkill, GivenSkills } from '../tools/skills/given-skills.ts';
import type { Overflow } from './context-window.ts';
import { type KeptText, type ShortenedTexts, withoutTexts } from './kept-texts.ts';

/** What people of the folder wrote for agents. */
export interface FolderRules {
  /** What each conversation begins with, before its first task; null for nothing. */
  readonly projectText: string | null;
}

interface CompactionDeps extends FolderRules {
  readonly hooks: SessionHooks;
  readonly hooked: HookedTask;
  readonly clock: Clock;
  readonly inventory: { readonly skills: Pick<GivenSkills, 'ofTask'> };
  readonly record: (event: TraceEvent) => void;
}

export type Compaction =
  /** The request goes out as it is. */
  | { readonly kind: 'none' }
  | { readonly kind: 'replaced'; readonly messages: readonly Message[] }
  /** The task fails (D1 "Task states"). */
  | Extract<TaskFailure, { kind: 'failed' }>;

/** Asks the hooks for a shorter conversation. */
export async function compact(
  messages: readonly Message[],
  overflow: Overflow,
  { hooks, hooked, clock, inventory, projectText, record }: CompactionDeps,
): Promise<Compaction> {
  const startedMs = clock.monotonicMs();
  const texts = keptTexts(projectText, inventory.skills.ofTask(hooked.id));
  const without = withoutTexts(messages, texts, overflow.maxTokens);
  const verdict = await hooks.compact(hooked, {
    messages: without.messages,
    estimatedTokens: overflow.estimatedTokens - without.tokens,
    maxTokens: overflow.maxTokens - without.tokens,
  });
  if (verdict.kind === 'nobody' || hooked.signal.aborted) return { kind: 'none' };
  const compaction = judged(verdict, messages, without);
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

/** In the order of the conversation: what it begins with, then what the task was given. */
function keptTexts(projectText: string | null, skills: readonly GivenSkill[]): readonly KeptText[] {
  const ofFolder = projectText === null ? [] : [{ what: 'the rules of the folder', text: projectText }];
  return [...ofFolder, ...skills.map(({ name, text }) => ({ what: `the text of the skill ${name}`, text }))];
}

function judged(
  verdict: Exclude<CompactionVerdict, { kind: 'nobody' }>,
  before: readonly Message[],
  { restored }: Pick<ShortenedTexts, 'restored'>,
): Compaction {
  if (verdict.kind === 'failed') return { kind: 'failed', error: verdict.error };
  if (verdict.kind === 'unchanged') return { kind: 'none' };
  const problem = contextProblem(verdict.messages);
  if (problem !== null) return { kind: 'failed', error: problem };
  return { kind: 'replaced', messages: restored(withCompanions(verdict.messages, before)) };
}

/**
 * The conversation with what the provider gave with the calls that are left in it: its thinking, signed. A hook that leaves it out would part the two,
 * and many providers refuse the one without the other.
 */
export function withCompanions(messages: readonly Message[], before: readonly Message[]): readonly Message[] {
  const given = new Map(before.flatMap((message) => companionsOf(message)));
  return messages.map((message) => {
    if (message.content.some(isSigned)) return message;
    const companions = callsIn(message).flatMap((call) => given.get(call) ?? []);
    return companions.length === 0 ? message : { ...message, content: [...new Set(companions), ...message.content] };
  });
}

function companionsOf(message: Message): readonly (readonly [string, readonly ContentBlock[]])[] {
  const companions = message.content.filter(isSigned);
  return companions.length === 0 ? [] : callsIn(message).map((call) => [call, companions]);
}

/** The calls of a message as texts. Calls that share an id differ in their arguments. */
function callsIn({ role, content }: Message): readonly string[] {
  const calls = role === 'assistant' ? content.filter(({ type }) => type === 'tool_call') : [];
  return calls.map((call) => JSON.stringify(call));
}

function isSigned(block: ContentBlock): boolean {
  return block.type === 'thinking' && block.signature !== undefined;
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
