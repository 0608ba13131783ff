/** Writes the journal of a session from what goes through its recorder. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isLong, type Steps } from '@svc/kit/yield-to-loop.ts';
import type { Journal } from '@svc/record/journal/journal-writer.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { InferenceRequest, Message } from '../model/driver.ts';
import type { ReportedUsage } from '../model/driver-notes.ts';
import type { HistoryEvent } from '../recorder/recorder.ts';
import type { Chunk } from '../recorder/shown-chunks.ts';
import { conversationOf, type Sender } from '../task/task.ts';
import { keptLog } from './kept-import-log.ts';

type Crossed<Kind extends HistoryEvent['kind']> = Extract<HistoryEvent, { readonly kind: Kind }>;

/** A request that later ones may extend. */
interface KnownRequest {
  readonly place: string;
  readonly messages: readonly Message[];
}

/** What of a request is the same from turn to turn. */
type FixedPart = Pick<InferenceRequest, 'model' | 'system' | 'tools' | 'maxTokens'>;

/** How many conversations are looked at for the request that a new one extends: hooks and tasks of other contexts ask in between. */
const maxConversations = 8;

/** Writes a record for each event of the history; a request to the model as what it adds to the one before it (docs/journal.md). */
export class JournalLines {
  readonly #journal: Journal;
  readonly #redact: (text: string) => string;
  #importBytes: number;
  /** The newest first. */
  readonly #requests: KnownRequest[] = [];
  readonly #messages = new WeakMap<Message, string>();
  readonly #tools = new WeakMap<object, string>();
  #fixed: { readonly known: FixedPart | null; readonly sha256: string } = { known: null, sha256: '' };

  /** `importBytes` is what may be kept of the imports of components in all. */
  constructor(journal: Journal, redact: (text: string) => string, importBytes = Infinity) {
    this.#journal = journal;
    this.#importBytes = importBytes;
    this.#redact = redact;
  }

  /** `at` is when it went through, in Unix milliseconds. Throws the Diagnostic of a record that cannot be written. Nothing else is written between its steps. */
  *write(historyEvent: HistoryEvent, at: number): Steps<void> {
    const journal = this.#journal;
    switch (historyEvent.kind) {
      case 'start':
        if (historyEvent.port === 'model') return yield* this.#model(historyEvent, at);
        return journal.append({
          k: 'start',
          at,
          e: historyEvent.place,
          port: historyEvent.port,
          name: historyEvent.name,
          in: yield* this.json(historyEvent.input),
        });
      case 'ask': {
        const { place, what, value, chunks } = historyEvent;
        const hashes = { value: yield* this.json(value), ...(yield* this.#chunks(chunks)) };
        return journal.append({ k: 'ask', e: place, what, ...hashes, ...overtakingOf(historyEvent) });
      }
      case 'noted': {
        const value = yield* this.json(historyEvent.event);
        return journal.append({
          k: 'ask',
          e: historyEvent.place,
          what: 'record',
          value,
          ...overtakingOf(historyEvent),
        });
      }
      case 'imports':
        return yield* this.#imports(historyEvent);
      case 'end':
        return yield* this.#end(historyEvent, at);
      case 'settled':
      case 'found': {
        const { place, value, fault } = historyEvent;
        const found = historyEvent.kind === 'found' ? { found: true as const } : overtakingOf(historyEvent);
        const held = value === null || value === undefined ? null : yield* this.json(value);
        return journal.append({ k: 'look', e: place, value: held, ...faultOf(fault), ...found });
      }
      case 'arrived':
        return yield* this.#arrived(historyEvent, at);
    }
  }

  *#imports({ place, instance, log }: Crossed<'imports'>): Steps<void> {
    if (log !== null && isLong(log)) yield;
    const kept = log === null ? null : keptLog(log, this.#redact, this.#importBytes);
    if (kept === null) return this.#journal.append({ k: 'io', e: place, instance, value: null });
    this.#importBytes -= kept.length;
    this.#journal.append({ k: 'io', e: place, instance, value: yield* this.#journal.body(kept) });
  }

  /** Keeps a value as JSON, redacted, and gives the hash of that. */
  *json(value: unknown): Steps<string> {
    if (holdsLongText(value)) yield;
    const encoded = encode(value);
    if (isLong(encoded)) yield;
    if (this.#redact(encoded) === encoded) return yield* this.#journal.redactedBody(encoded);
    if (isLong(encoded)) yield;
    const redacted = redactedJson(value, this.#redact);
    if (isLong(encoded)) yield;
    return yield* this.#journal.redactedBody(encode(redacted));
  }

  *#model({ place, name, input }: Crossed<'start'>, at: number): Steps<void> {
    const request = input as InferenceRequest;
    const { model, system, messages, tools, maxTokens, continuationId } = request;
    const fixed = yield* this.#fixedOf({ model, system, tools, maxTokens });
    const base = this.#baseOf(messages);
    this.#requests.unshift({ place, messages });
    this.#requests.length = Math.min(this.#requests.length, maxConversations);
    const add: string[] = [];
    for (const message of messages.slice(base?.messages.length ?? 0)) add.push(yield* this.#message(message));
    const cont = continuationId === undefined ? {} : { cont: yield* this.#journal.body(continuationId) };
    const chain = { fixed, base: base?.place ?? null, add, ...cont };
    this.#journal.append({ k: 'start', at, e: place, port: 'model', name, ...chain });
  }

  /** The request whose messages all stand at the beginning of these; it is then no longer one of the newest itself. */
  #baseOf(messages: readonly Message[]): KnownRequest | null {
    const index = this.#requests.findIndex(
      (known) => known.messages.length <= messages.length && known.messages.every((each, at) => each === messages[at]),
    );
    return this.#requests.splice(index, index < 0 ? 0 : 1)[0] ?? null;
  }

  *#message(message: Message): Steps<string> {
    const known = this.#messages.get(message);
    if (known !== undefined) return known;
    const sha256 = yield* this.json(message);
    this.#messages.set(message, sha256);
    return sha256;
  }

  /** The same for each turn of a session, as long as its tools are. */
  *#fixedOf(part: FixedPart): Steps<string> {
    const { model, system, tools, maxTokens } = part;
    const { known } = this.#fixed;
    const isKnown =
      known?.model === model && known.system === system && known.tools === tools && known.maxTokens === maxTokens;
    if (isKnown) return this.#fixed.sha256;
    const hashes = { system: yield* this.#journal.body(system), tools: yield* this.#toolsOf(tools) };
    const sha256 = yield* this.json({ model, ...hashes, maxTokens });
    this.#fixed = { known: part, sha256 };
    return sha256;
  }

  *#toolsOf(tools: InferenceRequest['tools']): Steps<string> {
    const known = this.#tools.get(tools);
    if (known !== undefined) return known;
    const sha256 = yield* this.json(tools);
    this.#tools.set(tools, sha256);
    return sha256;
  }

  *#end(historyEvent: Crossed<'end'>, at: number): Steps<void> {
    const { place, value, lost, chunks, durationMs } = historyEvent;
    const common = { k: 'end', at, e: place, ms: durationMs, ...overtakingOf(historyEvent) } as const;
    const shown = yield* this.#chunks(chunks);
    if (lost) return this.#journal.append({ ...common, value: null, lost: 'canceled', ...shown });
    this.#journal.append({ ...common, value: yield* this.json(value), ...shown, ...summaryOf(value, this.#redact) });
  }

  *#arrived(arrived: Crossed<'arrived'>, at: number): Steps<void> {
    const journal = this.#journal;
    const along = { ...(arrived.together ? { together: true as const } : {}), ...overtakingOf(arrived) };
    switch (arrived.what) {
      case 'task': {
        const { id, contextId: ctx, conversation, origin, trust, lane, sender, command, skills, text } = arrived.task;
        const by =
          origin === 'user'
            ? 'start'
            : arrived.isDelivered
              ? 'work-end'
              : origin === 'completion'
                ? 'child-end'
                : 'message';
        const body = yield* journal.body(text);
        return journal.append({
          k: 'task',
          at,
          id,
          ctx,
          origin,
          trust,
          lane,
          text: body,
          ...senderOf(sender),
          ...(conversation === conversationOf(sender, ctx) ? {} : { conversation }),
          ...(command === null ? {} : { command }),
          ...(skills.length === 0 ? {} : { skills: [...skills] }),
          by,
          ...along,
        });
      }
      case 'answer': {
        const { what, taskId: task, waitId: question, sender, text } = arrived;
        const answer = { k: 'in', at, what, task, question, text: yield* journal.body(text) } as const;
        return journal.append({ ...answer, ...(sender === null ? {} : senderOf(sender)), ...along });
      }
      case 'decision': {
        const { what, taskId: task, waitId: question, principal, decision, option, note } = arrived;
        const text = yield* this.json({ decision, option, note });
        return journal.append({ k: 'in', at, what, task, question, principal, text, ...along });
      }
      case 'cancel':
        return journal.append({
          k: 'in',
          at,
          what: arrived.what,
          task: arrived.taskId,
          ...principalOf(arrived),
          ...along,
        });
      case 'stop':
        return journal.append({ k: 'in', at, what: arrived.what, ...principalOf(arrived), ...along });
      case 'shut-down':
        return journal.append({ k: 'in', at, what: arrived.what, ...along });
      case 'trap':
        return journal.append({ k: 'in', at, what: arrived.what, ...faultOf(arrived.reason), ...along });
      case 'timer':
        return journal.append({ k: 'in', at, what: arrived.what, name: arrived.name, ...along });
      case 'note':
        return journal.append({ k: 'in', at, what: arrived.what, text: yield* this.json(arrived.event), ...along });
    }
  }

  *#chunks(chunks: readonly Chunk[]): Steps<{ chunks?: string }> {
    if (chunks.length === 0) return {};
    const runs = joined(chunks);
    if (holdsLongText(runs)) yield;
    return { chunks: yield* this.json(withoutSplitSecrets(runs, this.#redact)) };
  }
}

/** Chunks of one kind that follow each other, as one: where a provider cut its text says nothing. */
function joined(chunks: readonly Chunk[]): readonly Chunk[] {
  const runs: { readonly kind: Chunk[0]; readonly texts: string[] }[] = [];
  for (const [kind, text] of chunks) {
    const last = runs.at(-1);
    if (last?.kind === kind && kind !== 'retry') last.texts.push(text);
    else runs.push({ kind, texts: [text] });
  }
  return runs.map(({ kind, texts }) => [kind, texts.join('')]);
}

/** A secret may be cut by chunks of another kind: then all of its kind stand in the place of the first, redacted as a whole. */
function withoutSplitSecrets(chunks: readonly Chunk[], redact: (text: string) => string): readonly Chunk[] {
  return (['text', 'thinking'] as const).reduce<readonly Chunk[]>((all, kind) => {
    const texts = all.filter(([each]) => each === kind).map(([, text]) => text);
    const whole = redact(texts.join(''));
    if (texts.length < 2 || whole === texts.map(redact).join('')) return all;
    const first = all.findIndex(([each]) => each === kind);
    return all.flatMap((chunk, at) => (at === first ? [[kind, whole] as const] : chunk[0] === kind ? [] : [chunk]));
  }, chunks);
}

/** Whether a value that becomes JSON holds a text whose handling takes turns of its own. */
function holdsLongText(value: unknown): boolean {
  if (typeof value === 'string') return isLong(value);
  if (typeof value !== 'object' || value === null) return false;
  // Asked of everything that is written: a list of the values would cost more than the answer.
  for (const key in value) if (holdsLongText((value as Readonly<Record<string, unknown>>)[key])) return true;
  return false;
}

/** As JSON. Numbers beyond 2^53, which components give, become text. */
export function encode(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  }
}

function senderOf(sender: Sender | null): { key: string | null; principal?: string; traceparent?: string } {
  if (sender === null) return { key: null };
  const { principal, tags } = sender;
  const { idempotencyKey: key = null, traceparent } = tags;
  return { key, principal, ...(traceparent === undefined ? {} : { traceparent }) };
}

function principalOf({ principal }: { readonly principal: string | null }): { principal?: string } {
  return principal === null ? {} : { principal };
}

function overtakingOf({ past }: { readonly past?: readonly string[] }): { past?: string[] } {
  return past === undefined ? {} : { past: [...past] };
}

function faultOf(fault: Diagnostic | null): { fault?: { code: string; message: string } } {
  return fault === null ? {} : { fault: { code: fault.code, message: fault.message } };
}

export interface Summary {
  stop?: string;
  usage?: { in: number; out: number; cache?: number };
  exit?: number;
  error?: true;
  calls?: string[];
}

/** What a list of steps shows of an outcome without looking it up. */
export function summaryOf(value: unknown, redact: (text: string) => string): Summary {
  if (typeof value !== 'object' || value === null) return {};
  const outcome = value as {
    readonly kind?: unknown;
    readonly status?: unknown;
    readonly exitCode?: unknown;
    readonly response?: {
      readonly stopReason: string;
      readonly usage?: ReportedUsage;
      readonly content: readonly { readonly type: string; readonly name?: string }[];
    };
  };
  const { response } = outcome;
  if (response !== undefined) {
    const calls = response.content.flatMap(({ type, name }) =>
      type === 'tool_call' && name !== undefined ? [name] : [],
    );
    return {
      stop: redact(response.stopReason).slice(0, maxStop),
      ...(response.usage === undefined ? {} : { usage: usageOf(response.usage) }),
      ...(calls.length === 0 ? {} : { calls: calls.slice(0, maxCallsShown) }),
    };
  }
  const failed =
    outcome.status === 'failed' ||
    outcome.kind === 'failed' ||
    outcome.kind === 'unavailable' ||
    outcome.kind === 'malformed';
  return {
    ...(typeof outcome.exitCode === 'number' ? { exit: outcome.exitCode } : {}),
    ...(failed || outcome.kind === 'error' || outcome.kind === 'trapped' ? { error: true } : {}),
  };
}

function usageOf({ inputTokens, outputTokens, cacheReadTokens: cache }: ReportedUsage): NonNullable<Summary['usage']> {
  return { in: inputTokens, out: outputTokens, ...(cache === undefined ? {} : { cache }) };
}

const maxStop = 64;
const maxCallsShown = 16;
