/** Says of each request of a session why the prompt cache of a provider could not hold what was sent before. */

import type { SkimmedRecord } from './journal-skim.ts';
import { commonMessages, type ModelRequest, RequestChain } from './request-chain.ts';

/** How long providers keep a prompt that is not asked about again. */
export const cacheMs: number = 5 * 60 * 1000;

/** A request beside the one before it in its conversation. Messages are counted from 0. */
export interface CacheStep {
  readonly request: ModelRequest;
  readonly before: ModelRequest;
  /** Messages of the request before that this one begins with. */
  readonly same: number;
  readonly misses: readonly CacheMiss[];
}

export type CacheMiss =
  /** Model, system prompt, tools or the limit of tokens. */
  | { readonly kind: 'fixed' }
  | { readonly kind: 'compaction' }
  /** The first message that is not as it was. */
  | { readonly kind: 'message'; readonly index: number }
  | { readonly kind: 'pause'; readonly ms: number };

/**
 * Each request of a journal but the first of a conversation, in order; one for which the cache could hold has no misses. A
 * conversation is that of a context, and begins anew with a task whose first request has nothing in common with the last one.
 */
export function* cacheSteps(records: Iterable<SkimmedRecord>): Generator<CacheStep> {
  const chain = new RequestChain();
  const contexts = new Map<string, string>();
  const last = new Map<string, { readonly request: ModelRequest; readonly task: string }>();
  const compacted = new Set<string>();
  let step = 0;
  for (const record of records) {
    if (record.k === 'task') contexts.set(record.id, record.ctx);
    if (record.k === 'end') chain.end(record);
    if (record.k !== 'start') continue;
    step += 1;
    const task = record.e.slice(0, record.e.indexOf('/'));
    if (record.e.includes('/h-on-compaction-') && record.isHook) compacted.add(task);
    if (!record.isModel) continue;
    const request = chain.begin(step, record);
    const context = contexts.get(task) ?? task;
    const before = last.get(context);
    last.set(context, { request, task });
    const wasCompacted = compacted.delete(task);
    if (before === undefined) continue;
    const same = sameMessages(before.request, request);
    if (before.task !== task && same === 0) continue;
    yield { request, before: before.request, same, misses: missesOf(before.request, request, { same, wasCompacted }) };
  }
}

/** How many messages the second request begins with that the first had. */
function sameMessages(before: ModelRequest, request: ModelRequest): number {
  if (request.base === before) return before.length;
  return commonMessages(before.messages, request.messages);
}

function missesOf(
  before: ModelRequest,
  request: ModelRequest,
  { same, wasCompacted }: { readonly same: number; readonly wasCompacted: boolean },
): readonly CacheMiss[] {
  const misses: CacheMiss[] = [];
  if (before.start.fixed !== request.start.fixed) misses.push({ kind: 'fixed' });
  if (same < before.length) misses.push(wasCompacted ? { kind: 'compaction' } : { kind: 'message', index: same });
  const ms = request.start.at - (before.answeredAt ?? before.start.at);
  if (ms > cacheMs) misses.push({ kind: 'pause', ms });
  return misses;
}
