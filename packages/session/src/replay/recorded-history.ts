/** Reads from a journal what went through the recorder of its session. */

import { parseImportLog } from '@svc/components/import-log.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { Damage } from '@svc/record/journal/journal-scan.ts';
import { RecordedValues } from '@svc/record/journal/recorded-json.ts';
import type { JournalRecord } from '@svc/record/journal/records.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { InferenceRequest, Message } from '../model/driver.ts';
import type { Arrival, AskKind, HistoryEvent } from '../recorder/recorder.ts';
import type { Chunk } from '../recorder/shown-chunks.ts';
import { conversationOf, type Sender } from '../task/task.ts';
import { differenceSince, type Divergence } from './asked-again.ts';
import { summaryOf } from './journal-lines.ts';

/** What a journal gives back of its session. */
export interface Recording {
  /** In the order of the session, as far as every text of theirs is there. */
  readonly historyEvents: readonly HistoryEvent[];
  readonly setup: Setup | null;
  /** How each task that is over ended, in the order of their ends. */
  readonly ends: readonly RecordedEnd[];
  /** The text that ends them, and why it is not there; null when none is missing. */
  readonly missing: { readonly place: string; readonly why: string } | null;
  /** The first record that contradicts those that it is about; null when no record does. */
  readonly unfit: Divergence | null;
  readonly damage: Damage | null;
  /** How the session ended; null for one that runs yet, was killed or is cut off. */
  readonly close: JournalRecord<'close'> | null;
}

/** How a task ended. `result` is null when it has none, and absent when its text is not kept. */
export interface RecordedEnd extends Pick<
  JournalRecord<'task-end'>,
  'id' | 'state' | 'attempts' | 'turns' | 'message'
> {
  readonly result?: string | null;
}

/** The texts that a session began with. */
export type Setup = Readonly<Record<'manifest' | 'system' | 'tools' | 'grants' | 'hooks' | 'settings', string>>;

/**
 * Reads the whole of a journal. Reads no further than to what is damaged or missing. Records that name the same text have the same value, which nobody
 * may change. Throws an Error for one whose texts hold more values than a replay has memory for.
 */
export function readRecording(reader: JournalReader): Recording {
  return new RecordingReader(reader).read();
}

class MissingText extends Error {}

/** A session keeps 2 MiB of a log; with its secrets taken out it may be longer. */
const maxLog = 8 * 1024 * 1024;
/** In the tools, hooks and settings of a session together: each tool and each hook is made again. */
const maxSetupValues = 256 * 1024;
const tooMany = 'its texts hold more values than there is memory for';

/** A request as its record has it. Lists of all messages of all requests would grow with the square of a session. */
interface KnownRequest {
  readonly base: KnownRequest | null;
  readonly add: readonly Message[];
}

function messagesOf(request: KnownRequest): readonly Message[] {
  const parts: (readonly Message[])[] = [];
  for (let each: KnownRequest | null = request; each !== null; each = each.base) parts.push(each.add);
  return parts.toReversed().flat();
}

/** Makes the list of all messages of a request: mostly from that of the one before it, which is all that is kept. */
class MessageLists {
  #latest: { readonly request: KnownRequest | null; readonly list: readonly Message[] } = { request: null, list: [] };

  of(request: KnownRequest): readonly Message[] {
    const { request: before, list } = this.#latest;
    if (request !== before) {
      const isNext = request.base !== null && request.base === before;
      this.#latest = { request, list: isNext ? [...list, ...request.add] : messagesOf(request) };
    }
    return this.#latest.list;
  }
}

class RecordingReader {
  readonly #reader: JournalReader;
  /** Texts that stand in the lines themselves. */
  readonly #texts = new Map<string, string>();
  readonly #requests = new Map<string, KnownRequest>();
  readonly #lists = new MessageLists();
  readonly #values = new RecordedValues();
  /** Texts, or why one is not there: reading a long one again would make another copy. */
  readonly #read = new Map<string, string | MissingText>();
  readonly #logs = new Map<string, string | null>();
  readonly #historyEvents: HistoryEvent[] = [];
  readonly #ends: RecordedEnd[] = [];
  #setup: Setup | null = null;
  #close: JournalRecord<'close'> | null = null;
  #unfit: Divergence | null = null;

  constructor(reader: JournalReader) {
    this.#reader = reader;
  }

  read(): Recording {
    const scan = this.#reader.scan();
    let missing: Recording['missing'] = null;
    for (const { record } of scan.records()) {
      try {
        this.#take(record);
      } catch (error) {
        if (!(error instanceof MissingText)) throw error;
        missing = { place: 'e' in record ? record.e : record.k, why: error.message };
        break;
      }
    }
    const { damage } = scan;
    const [historyEvents, setup, ends, unfit, close] = [
      this.#historyEvents,
      this.#setup,
      this.#ends,
      this.#unfit,
      this.#close,
    ];
    return { historyEvents, setup, ends, missing, unfit, damage, close };
  }

  #take(record: JournalRecord): void {
    if (this.#close !== null) this.#unfit ??= { place: 'session', port: 'close', problem: 'is not the last record' };
    switch (record.k) {
      case 'body':
        if (record.data !== undefined) this.#texts.set(record.sha256, record.data);
        return;
      case 'setup':
        this.#setup = this.#setupOf(record);
        return;
      case 'close':
        this.#close = record;
        return;
      case 'task-end':
        this.#ends.push(this.#endOf(record));
        return;
      case 'open':
      case 'index':
        return;
      case 'start':
      case 'ask':
      case 'io':
      case 'end':
      case 'look':
      case 'task':
      case 'in':
        this.#historyEvents.push(this.#historyEvent(record));
    }
  }

  /** No replay waits for the result of a task: one that is not kept keeps nothing from being run again. */
  #endOf({ id, state, attempts, turns, message, result }: JournalRecord<'task-end'>): RecordedEnd {
    const end = { id, state, attempts, turns, message };
    if (result === null) return { ...end, result };
    try {
      return { ...end, result: this.#text(result) };
    } catch (error) {
      if (!(error instanceof MissingText)) throw error;
      return end;
    }
  }

  #historyEvent(record: JournalRecord<'start' | 'ask' | 'io' | 'end' | 'look' | 'task' | 'in'>): HistoryEvent {
    switch (record.k) {
      case 'start': {
        const { e: place, port, name } = record;
        return {
          kind: 'start',
          place,
          port,
          name,
          input: port === 'model' ? this.#request(record) : this.#json(record.in),
        };
      }
      case 'ask': {
        const { e: place, what, value, chunks } = record;
        if (what === 'record')
          return { kind: 'noted', place, event: this.#json(value) as TraceEvent, ...overtakingOf(record) };
        return {
          kind: 'ask',
          place,
          what: what satisfies AskKind,
          value: this.#json(value),
          chunks: this.#chunks(chunks),
          ...overtakingOf(record),
        };
      }
      case 'io': {
        const { e: place, instance, value } = record;
        return { kind: 'imports', place, instance, log: value === null ? null : this.#importLog(value) };
      }
      case 'end': {
        const { e: place, value, lost, chunks, ms } = record;
        const outcome = value === null ? undefined : this.#json(value);
        this.#checkSummary(record, outcome);
        return {
          kind: 'end',
          place,
          value: outcome,
          lost: lost !== undefined,
          chunks: this.#chunks(chunks),
          durationMs: ms,
          ...overtakingOf(record),
        };
      }
      case 'look': {
        const { e: place, value, fault, found } = record;
        const finding = { value: value === null ? null : this.#json(value), fault: faultOf(fault) };
        if (found === true) return { kind: 'found', place, ...finding };
        return { kind: 'settled', place, ...finding, ...overtakingOf(record) };
      }
      case 'task': {
        const { id, ctx, origin, trust, lane, text, by, command = null, skills = [] } = record;
        const sender = senderOf(record);
        const contextId = ctx as ContextId;
        const conversation = (record.conversation as ContextId | undefined) ?? conversationOf(sender, contextId);
        const ids = { id: id as TaskId, contextId, conversation };
        const task = { ...ids, origin, trust, lane, sender, command, skills, text: this.#text(text) };
        const together = record.together === true;
        const isDelivered = by === 'work-end';
        return { kind: 'arrived', together, what: 'task', task, isDelivered, ...overtakingOf(record) };
      }
      case 'in':
        return this.#arrival(record);
    }
  }

  /** The summary of an end has to be that of its outcome. */
  #checkSummary({ e: place, stop, usage, exit, error, calls }: JournalRecord<'end'>, outcome: unknown): void {
    const difference = differenceSince({ stop, usage, exit, error, calls }, summaryOf(outcome, asRecorded));
    if (difference !== null)
      this.#unfit ??= { place, port: 'end', problem: 'does not say what its outcome does', ...difference };
  }

  #arrival(record: JournalRecord<'in'>): HistoryEvent {
    const { what, task = '', question = '', text = '', name = '' } = record;
    const taskId = task as TaskId;
    const common = { kind: 'arrived', together: record.together === true, ...overtakingOf(record) } as const;
    switch (what) {
      case 'answer':
        return { ...common, what, taskId, waitId: question, sender: senderOf(record), text: this.#text(text) };
      case 'decision': {
        const told = this.#json(text) as Pick<Extract<Arrival, { what: 'decision' }>, 'decision' | 'option' | 'note'>;
        const { decision, option, note } = told;
        return { ...common, what, taskId, waitId: question, principal: record.principal ?? '', decision, option, note };
      }
      case 'cancel':
        return { ...common, what, taskId, principal: record.principal ?? null };
      case 'stop':
        return { ...common, what, principal: record.principal ?? null };
      case 'shut-down':
        return { ...common, what };
      case 'timer':
        return { ...common, what, name };
      case 'note':
        return { ...common, what, event: this.#json(text) as TraceEvent };
      case 'trap': {
        const reason = faultOf(record.fault);
        if (reason === null) throw new MissingText('the record of a trap does not say why');
        return { ...common, what, reason };
      }
    }
  }

  /** Puts a request together from what it adds to the one that it extends. */
  #request({ e, fixed, base, add, cont }: Extract<JournalRecord<'start'>, { port: 'model' }>): InferenceRequest {
    const known = base === null ? null : this.#requests.get(base);
    if (known === undefined)
      throw new MissingText(`the request of ${base}, which this one extends, is not in the journal`);
    const request = { base: known, add: add.map((sha256) => this.#json(sha256) as Message) };
    this.#requests.set(e, request);
    const lists = this.#lists;
    const { system, tools, ...rest } = this.#fixedPart(fixed);
    return {
      ...rest,
      system: this.#text(system),
      tools: this.#json(tools),
      get messages() {
        return lists.of(request);
      },
      ...(cont === undefined ? {} : { continuationId: this.#text(cont) }),
    } as unknown as InferenceRequest;
  }

  #fixedPart(sha256: string): Readonly<Record<'system' | 'tools', string> & Record<string, unknown>> {
    const value = this.#json(sha256) as Readonly<Record<string, unknown>> | null;
    const { system, tools } = value ?? {};
    if (typeof system === 'string' && typeof tools === 'string') return { ...value, system, tools };
    throw new MissingText(`the text ${shortened(sha256)} is no fixed part of a request`);
  }

  #setupOf({ manifest, system, tools, grants, hooks, settings }: JournalRecord<'setup'>): Setup {
    const hashes = { manifest, system, tools, grants, hooks, settings };
    // Each user parses it again.
    this.#json(grants);
    const values = new RecordedValues(maxSetupValues);
    for (const sha256 of [tools, hooks, settings])
      if (values.of(sha256, () => this.#text(sha256)).kind === 'too-many') throw new Error(tooMany);
    return Object.fromEntries(Object.entries(hashes).map(([key, sha256]) => [key, this.#text(sha256)])) as Setup;
  }

  #importLog(sha256: string): string | null {
    const known = this.#logs.get(sha256);
    const log = known === undefined ? this.#newLog(sha256) : known;
    this.#logs.set(sha256, log);
    return log;
  }

  /** A log that was too long to be kept says nothing; anything else is damage. */
  #newLog(sha256: string): string | null {
    if (!this.#texts.has(sha256) && ['cut', 'not kept'].includes(this.#reader.body(sha256).kind)) return null;
    const text = this.#text(sha256);
    if (text.length > maxLog || parseImportLog(text) === null)
      throw new MissingText(`the text ${shortened(sha256)} is no log of imports`);
    return text;
  }

  #chunks(sha256: string | undefined): readonly Chunk[] {
    return sha256 === undefined ? [] : (this.#json(sha256) as readonly Chunk[]);
  }

  #json(sha256: string): unknown {
    const json = this.#values.of(sha256, () => textOrThrow(this.#reading(sha256)));
    switch (json.kind) {
      case 'json':
        return json.value;
      case 'too-many':
        throw new Error(tooMany);
      case 'too-deep':
      case 'not-json':
        throw new MissingText(
          `the text ${shortened(sha256)} is ${json.kind === 'not-json' ? 'not JSON' : 'nested too deep'}`,
        );
    }
  }

  #text(sha256: string): string {
    const text = this.#read.get(sha256) ?? this.#reading(sha256);
    this.#read.set(sha256, text);
    return textOrThrow(text);
  }

  #reading(sha256: string): string | MissingText {
    const inline = this.#texts.get(sha256);
    if (inline !== undefined) {
      if (sha256Hex(inline) === sha256) return inline;
      return new MissingText(`the text ${shortened(sha256)} has another hash`);
    }
    const body = this.#reader.body(sha256);
    if (body.kind === 'text') return body.text;
    const why = { cut: 'was too long to be kept', 'not kept': 'was not kept' } as const;
    return new MissingText(
      `the text ${shortened(sha256)} ${body.kind === 'damaged' ? `is missing: ${body.why}` : why[body.kind]}`,
    );
  }
}

function textOrThrow(text: string | MissingText): string {
  if (text instanceof MissingText) throw text;
  return text;
}

function senderOf({ principal, key, traceparent }: JournalRecord<'task' | 'in'>): Sender | null {
  if (principal === undefined) return null;
  return { principal, tags: { idempotencyKey: key ?? undefined, traceparent } };
}

function overtakingOf({ past }: { readonly past?: readonly string[] | undefined }): { past?: readonly string[] } {
  return past === undefined ? {} : { past };
}

function faultOf(fault: { readonly code: string; readonly message: string } | undefined): Diagnostic | null {
  return fault === undefined ? null : new Diagnostic(fault.code as DiagnosticCode, fault.message);
}

function shortened(sha256: string): string {
  return `${sha256.slice(0, 12)}…`;
}

/** Needs no redaction: a journal holds no secrets. */
function asRecorded(text: string): string {
  return text;
}
