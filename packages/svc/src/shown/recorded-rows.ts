/** Puts the records of a journal together to what a person would call the rows of a session: tasks, steps, calls that were refused, ends. */

import type { Digits } from '@svc/kit/exact-json.ts';
import type { Step } from '@svc/record/journal/journal-reader.ts';
import type { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import { type EndRecord, type JournalRecord, type StartRecord, questionAt } from '@svc/record/journal/records.ts';

/** The kinds of records that make rows. */
export const rowKinds = ['body', 'task', 'start', 'ask', 'in', 'end', 'task-end', 'close'] as const;

type RowRecord = JournalRecord<(typeof rowKinds)[number]>;

/** A call as the model made it. */
export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly digits?: Digits;
}

/** A question of a step to its user; both are hashes of texts. */
export interface RecordedQuestion {
  readonly prompt: string;
  readonly answer: string | null;
}

export type RecordedRow =
  | { readonly kind: 'task'; readonly record: JournalRecord<'task'> }
  /** `call` is null for a step that is no call of the model, or whose answer the journal does not hold. */
  | {
      readonly kind: 'step';
      readonly step: Step;
      readonly questions: readonly RecordedQuestion[];
      readonly call: RecordedCall | null;
    }
  /** A call that no tool got. `content` is the result that the model read; null where the journal does not hold it. */
  | {
      readonly kind: 'refused';
      readonly place: string;
      readonly call: RecordedCall;
      readonly content: string | null;
      /** By a hook; else svc itself refused it. */
      readonly isDenied: boolean;
    }
  | { readonly kind: 'end'; readonly record: JournalRecord<'task-end'> };

/** A row that waits until it is whole: those behind it wait too. */
interface Slot {
  row: RecordedRow | null;
  isReady: boolean;
}

/** The calls of one answer that nothing has carried out so far, by their number. */
interface OpenCalls {
  readonly place: string;
  /** The hash of the answer; null for calls that came in the middle of it, which `given` holds. */
  readonly value: string | null;
  readonly given: string[];
  readonly slots: Map<number, Slot>;
  count: number;
}

interface OpenStep {
  readonly slot: Slot;
  readonly step: Step;
  readonly questions: { prompt: string; answer: string | null }[];
  readonly call: () => RecordedCall | null;
}

const callPlace = /^(.+\/m\d{1,9})\/t(\d{1,9})$/;
const hookOfCall = /\/h-on-(?:tool-call|shell)\//;
const nobody: ReadonlySet<unknown> = new Set();
const taskOfPlace = /^([^/]+)\//;
/** Calls of one answer. */
const mostCalls = 1_024;

/**
 * The rows of a session, record by record, in the order in which they began. A call has the place of its answer; one that has no step was refused, and the
 * next request says with which words.
 */
export class RecordedRows {
  readonly #texts: PassedTexts;
  readonly #steps = new Map<string, OpenStep>();
  /** The calls of the last answer of each task. */
  readonly #calls = new Map<string, OpenCalls>();
  /** The hashes of what the hooks of each task were asked about calls. */
  readonly #judging = new Map<string, string[]>();
  /** Tasks that are a command which a person typed, until something has carried it out. */
  readonly #typed = new Map<string, JournalRecord<'task'>>();
  readonly #isInOrder: boolean;
  #waiting: Slot[] = [];
  #count = 0;

  /** `as they end`: no row waits for those before it. */
  constructor(texts: PassedTexts, order: 'as they begin' | 'as they end' = 'as they begin') {
    this.#isInOrder = order === 'as they begin';
    this.#texts = texts;
  }

  /** The rows that are whole now, and that no other one waits before. */
  take(record: RowRecord, byte: number): readonly RecordedRow[] {
    switch (record.k) {
      case 'body':
        this.#texts.note(record);
        return [];
      case 'task':
        this.#add({ kind: 'task', record });
        if (record.command === 'shown' || record.command === 'told') this.#typed.set(record.id, record);
        break;
      case 'start':
        this.#begin(record, byte);
        break;
      case 'ask':
        this.#asked(record);
        break;
      case 'in':
        this.#answered(record);
        break;
      case 'end':
        this.#end(record, byte);
        break;
      case 'task-end':
        this.#settle(record.id, []);
        this.#settleTyped(record);
        this.#add({ kind: 'end', record });
        break;
      case 'close':
        return this.rest();
    }
    return this.#ready();
  }

  /** What is left where the journal ends: steps without an end too. */
  rest(): readonly RecordedRow[] {
    for (const open of this.#steps.values()) {
      open.slot.row = rowOf(open);
      open.slot.isReady = true;
    }
    for (const { slots } of this.#calls.values()) for (const slot of slots.values()) slot.isReady = true;
    this.#steps.clear();
    this.#calls.clear();
    return this.#ready();
  }

  #add(row: RecordedRow): void {
    this.#waiting.push({ row, isReady: true });
  }

  #ready(): readonly RecordedRow[] {
    const waits = this.#isInOrder ? this.#waiting.findIndex(({ isReady }) => !isReady) : -1;
    const ready = waits === -1 ? this.#waiting.filter(({ isReady }) => isReady) : this.#waiting.slice(0, waits);
    if (ready.length > 0)
      this.#waiting = waits === -1 ? this.#waiting.filter(({ isReady }) => !isReady) : this.#waiting.slice(waits);
    return ready.flatMap(({ row }) => (row === null ? [] : [row]));
  }

  #begin(start: StartRecord, byte: number): void {
    this.#count += 1;
    const taskId = questionAt(start.e)?.taskId;
    if (start.port === 'model' && taskId !== undefined) this.#settle(taskId, start.add);
    const [, answer = '', number] = callPlace.exec(start.e) ?? [];
    const [, task = ''] = taskOfPlace.exec(start.e) ?? [];
    if (start.port === 'hook' && hookOfCall.test(start.e)) this.#noteJudging(task, start.in);
    if (start.port !== 'hook') this.#typed.delete(task);
    const calls = this.#calls.get(task);
    const isOfAnswer = calls !== undefined && calls.place === answer;
    const slot = (isOfAnswer ? calls.slots.get(Number(number)) : undefined) ?? this.#slot();
    if (isOfAnswer) calls.slots.delete(Number(number));
    const step = { number: this.#count, start, end: null, startByte: byte, endByte: null };
    const call = (): RecordedCall | null => (isOfAnswer ? this.#callOf(calls, Number(number)) : null);
    this.#steps.set(start.e, { slot, step, questions: [], call });
  }

  #noteJudging(task: string, asked: string): void {
    const before = this.#judging.get(task);
    if (before === undefined) this.#judging.set(task, [asked]);
    else if (before.length < 2 * mostCalls) before.push(asked);
  }

  #slot(): Slot {
    const slot = { row: null, isReady: false };
    this.#waiting.push(slot);
    return slot;
  }

  #asked({ e, what, value }: JournalRecord<'ask'>): void {
    if (what === 'input') this.#steps.get(e)?.questions.push({ prompt: value, answer: null });
    const task = questionAt(e)?.taskId;
    if (what !== 'call' || task === undefined) return;
    const known = this.#calls.get(task);
    const calls = known?.place === e ? known : this.#open(task, { place: e, value: null });
    if (calls.count >= mostCalls) return;
    calls.given.push(value);
    calls.slots.set((calls.count += 1), this.#slot());
  }

  #open(task: string, { place, value }: Pick<OpenCalls, 'place' | 'value'>): OpenCalls {
    const calls = { place, value, given: [], slots: new Map<number, Slot>(), count: 0 };
    this.#calls.set(task, calls);
    return calls;
  }

  #answered({ what, task, text }: JournalRecord<'in'>): void {
    if (what !== 'answer' || task === undefined || text === undefined) return;
    for (const [e, { questions }] of this.#steps) {
      const question = questions.at(-1);
      if (e.startsWith(`${task}/`) && question?.answer === null) question.answer = text;
    }
  }

  #end(end: EndRecord, byte: number): void {
    const open = this.#steps.get(end.e);
    if (open === undefined) return;
    this.#steps.delete(end.e);
    const ended = { ...open, step: { ...open.step, end, endByte: byte } };
    open.slot.row = rowOf(ended);
    open.slot.isReady = true;
    const task = questionAt(end.e)?.taskId;
    const { calls: named = [], value } = end;
    if (task === undefined || named.length === 0 || value === null) return;
    const calls = this.#open(task, { place: end.e, value });
    const { length } = this.#callsIn(calls) ?? named;
    for (; calls.count < Math.min(length, mostCalls);) calls.slots.set((calls.count += 1), this.#slot());
  }

  /** What hooks were asked about since the last answer, by id or by command: a call that was judged and never carried out is one that a hook refused. */
  #judged(task: string): ReadonlySet<unknown> {
    const asked = this.#judging.get(task) ?? [];
    this.#judging.delete(task);
    return new Set(
      asked.flatMap((hash) => {
        const { argument } = (this.#json(hash) ?? {}) as { argument?: { callId?: unknown; command?: unknown } | null };
        return [argument?.callId, argument?.command].filter((name) => typeof name === 'string');
      }),
    );
  }

  /** The calls that have no step get the words of the request that follows; `added` are its messages. */
  #settle(task: string, added: readonly string[]): void {
    const calls = this.#calls.get(task);
    this.#calls.delete(task);
    const judged = calls === undefined || calls.slots.size === 0 ? nobody : this.#judged(task);
    this.#judging.delete(task);
    if (calls === undefined) return;
    if (calls.slots.size === 0) return;
    const results = calls.value === null ? [] : this.#results(added.slice(-calls.count));
    for (const [number, slot] of calls.slots) {
      slot.isReady = true;
      const call = this.#callOf(calls, number);
      if (call === null) continue;
      const result = results.length === calls.count ? results[number - 1] : undefined;
      const isDenied = judged.has(call.id) || judged.has(call.name);
      const place = `${calls.place}/t${number}`;
      if (isDenied || result?.isError === true)
        slot.row = { kind: 'refused', place, call, content: result?.content ?? null, isDenied };
    }
  }

  /** A typed command without a step was refused; the result of its task has the words. */
  #settleTyped({ id, state, result }: JournalRecord<'task-end'>): void {
    const task = this.#typed.get(id);
    this.#typed.delete(id);
    if (task === undefined || state !== 'completed') return;
    const typed = this.#text(task.text) ?? '';
    const command = typed.slice(task.command === 'told' ? 2 : 1);
    const call = { id: 'typed', name: 'sh', input: { command } };
    const content = result === null ? null : this.#text(result);
    this.#add({ kind: 'refused', place: `${id}/1/m1/t1`, call, content, isDenied: true });
  }

  /** The results of calls among these messages, as the model read them. */
  #results(hashes: readonly string[]): readonly { readonly isError: boolean; readonly content: string }[] {
    return hashes.flatMap((hash) => {
      const message = this.#json(hash) as { role?: unknown; isError?: unknown; content?: unknown } | null;
      if (message?.role !== 'tool' || !Array.isArray(message.content)) return [];
      const texts = message.content.map((block: { text?: unknown } | null) => block?.text);
      const content = texts.filter((text) => typeof text === 'string').join('\n');
      return [{ isError: message.isError === true, content }];
    });
  }

  #callOf(calls: OpenCalls, number: number): RecordedCall | null {
    if (calls.value !== null) return this.#callsIn(calls)?.[number - 1] ?? null;
    return asCall(this.#json(calls.given[number - 1] ?? ''));
  }

  #callsIn({ value }: OpenCalls): readonly (RecordedCall | null)[] | null {
    const answer = value === null ? null : (this.#json(value) as { response?: { content?: unknown } } | null);
    const content = answer?.response?.content;
    if (!Array.isArray(content)) return null;
    return content.filter((block: { type?: unknown } | null) => block?.type === 'tool_call').map(asCall);
  }

  #json(sha256: string): unknown {
    const text = this.#text(sha256);
    return text === null ? null : parsed(text);
  }

  #text(sha256: string): string | null {
    const body = this.#texts.body(sha256);
    return body.kind === 'text' ? body.text : null;
  }
}

function rowOf({ step, questions, call }: OpenStep): RecordedRow {
  return { kind: 'step', step, questions, call: call() };
}

function asCall(value: unknown): RecordedCall | null {
  const { id, name, input, digits } = (value ?? {}) as Partial<Record<keyof RecordedCall, unknown>>;
  if (typeof id !== 'string' || typeof name !== 'string') return null;
  const known = typeof digits === 'object' && digits !== null ? { digits: digits as Digits } : {};
  return { id, name, input, ...known };
}
