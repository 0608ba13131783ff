/** Makes the lines of a trace from a journal, for a session whose trace is not there: an export has none. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type Digits, digitsBelow, exactJson, withDigits } from '@svc/kit/exact-json.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { type EndRecord, type JournalRecord, type StartRecord, turnOf } from '@svc/record/journal/records.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';

/** A longer text of a line is left out, and so is each one after so much: a journal may name one text any number of times. */
const [maxText, maxTextBytes] = [1024 * 1024, 256 * 1024 * 1024];
/** Calls of one answer. */
const maxCalls = 10_000;
const maxValues = 1_000_000;

const attemptPlace = /^(.+?)\/(\d{1,9})\/m\d{1,9}/;
const callPlace = /^(.+\/m\d{1,9})\/t(\d{1,9})(?:\/s(.*?))?(?:\.\d+)?$/;
const completionPlace = /^(.+)\/completion\/(.+?)(?:\.\d+)?$/;

interface RunningTask {
  readonly at: number;
  attempt: string;
  input: number;
  output: number;
}

/** The answer of the model whose calls come now. */
interface Answer {
  readonly place: string;
  readonly value: string | null;
  readonly calls: readonly string[];
  /** Calls that have a line. */
  told: number;
}

/**
 * Lines as `trace.jsonl` has them, each with its line feed, up to the end of the journal or where it is damaged. Ids are made of the journal,
 * so that the same one gives the same lines. They lack what a journal does not have: connections, refusals, what was used of grants.
 */
export function* traceFromJournal(reader: JournalReader): Generator<Buffer> {
  const lines = new Lines(reader);
  for (const { record } of reader.scan().records()) {
    lines.take(record);
    yield* lines.made();
  }
}

class Lines {
  readonly #reader: JournalReader;
  readonly #tasks = new Map<string, RunningTask>();
  readonly #starts = new Map<string, StartRecord>();
  readonly #answers = new Map<string, Answer>();
  /** What a step asks its user, by the task. */
  readonly #questions = new Map<string, { readonly at: number; readonly prompt: string }>();
  #lines: Buffer[] = [];
  #open: JournalRecord<'open'> | null = null;
  #tools: ReadonlySet<string> | null = null;
  #count = 0;
  #at = 0;
  #textBytes = 0;

  constructor(reader: JournalReader) {
    this.#reader = reader;
  }

  *made(): Generator<Buffer> {
    const lines = this.#lines;
    this.#lines = [];
    yield* lines;
  }

  take(record: JournalRecord): void {
    if ('at' in record) this.#at = record.at;
    switch (record.k) {
      case 'open':
        this.#open ??= record;
        return;
      case 'setup':
        return this.#begins(record);
      case 'task':
        return this.#task(record);
      case 'start':
        return this.#start(record);
      case 'ask':
        return this.#ask(record);
      case 'end':
        return this.#end(record);
      case 'in':
        return this.#arrived(record);
      case 'task-end':
        return this.#taskEnd(record);
      case 'close': {
        const [status, tasks] = [record.status, this.#tasks.size];
        const reason = record.reason === null ? {} : { reason: record.reason };
        return this.#line('session_end', { status, ...reason, tasks, duration_ms: this.#since(this.#open?.at) });
      }
      case 'body':
      case 'index':
      case 'io':
      case 'look':
    }
  }

  #begins({ tools, grants }: JournalRecord<'setup'>): void {
    const open = this.#open;
    const names = listOf(this.#json(tools)).map(({ name }) => textOf(name));
    if (names.length > 0) this.#tools = new Set(names);
    const scope = objectOf(this.#json(grants));
    const { declared, achieved, mechanism } = objectOf(scope['containment']);
    this.#line('session_start', {
      timestamp: open?.at ?? this.#at,
      capsule: open?.capsule,
      runtime_version: open?.svc,
      containment: { declared, achieved, mechanism },
      tools_declared: names,
      effective_grants: scope,
    });
  }

  #task({ at, id, ctx, origin, trust, lane, principal, text }: JournalRecord<'task'>): void {
    if (!this.#tasks.has(id)) this.#tasks.set(id, { at, attempt: '', input: 0, output: 0 });
    const about = { task_id: id, context_id: ctx, origin, trust, lane, principal };
    this.#line('task_received', { ...about, text: this.#text(text) ?? '' });
  }

  #start(record: StartRecord): void {
    this.#starts.set(record.e, record);
    const [, id = '', attempt = ''] = attemptPlace.exec(record.e) ?? [];
    const task = this.#tasks.get(id);
    if (task === undefined) return;
    // Calls that came to nothing outside have no step.
    if (record.port === 'model') this.#tellCalls(id, Infinity);
    if (task.attempt === attempt) return;
    task.attempt = attempt;
    this.#line('task_start', { task_id: id, attempt: Number(attempt) });
  }

  #ask({ e, what, value }: JournalRecord<'ask'>): void {
    const given = what === 'input' || what === 'record' ? this.#json(value) : null;
    if (what === 'record') return this.#recorded(given);
    const [, id = ''] = attemptPlace.exec(e) ?? [];
    if (what === 'input') this.#questions.set(id, { at: this.#at, prompt: textOf(given) });
  }

  /** A line that the session has written itself. */
  #recorded(event: unknown): void {
    const { event_type: type, ...fields } = objectOf(event);
    if (typeof type === 'string' && type !== '') this.#line(type as TraceEvent['event_type'], fields);
  }

  #end(end: EndRecord): void {
    const start = this.#starts.get(end.e);
    if (start === undefined) return;
    this.#starts.delete(end.e);
    if (start.port === 'model') return this.#answered(start, end);
    const [, answer = '', number = '', step] = callPlace.exec(end.e) ?? [];
    if (number === '') return;
    const [, id = ''] = attemptPlace.exec(answer) ?? [];
    this.#unanswered(id, end.lost === undefined ? 'timed-out' : 'canceled');
    this.#tellCalls(id, Number(number) - 1);
    const { at: startMs, port, name } = start;
    const { value, digits } = this.#exact(start.in);
    const given = {
      start_ms: startMs,
      duration_ms: end.ms,
      arguments: value,
      exit_code: end.exit ?? null,
    };
    if (step !== undefined) {
      const outcome = end.error === true ? 'failed' : 'passed';
      const kind = port === 'shell' ? 'shell' : port === 'child' ? 'capsule' : 'tool';
      return this.#line(
        'plan_step',
        { task_id: id, step_id: step, outcome, kind, name, attempts: 1, ...given },
        digits,
      );
    }
    const told = this.#answers.get(id);
    if (told?.place === answer) told.told = Math.max(told.told, Number(number));
    const call = { task_id: id, turn: turnOf(answer), is_error: end.error === true, ...given };
    if (port === 'shell') return this.#line('shell', { ...call, command_name: name }, digits);
    this.#line('tool_call', { ...call, tool_name: name, tool_kind: port === 'mcp' ? 'mcp' : undefined }, digits);
  }

  #answered({ e, at, name }: StartRecord, { ms, error, stop, usage, lost, value, calls = [] }: EndRecord): void {
    const [, hookTask, hook] = completionPlace.exec(e) ?? [];
    const id = hookTask ?? attemptPlace.exec(e)?.[1] ?? '';
    const task = this.#tasks.get(id);
    if (task !== undefined) {
      task.input += usage?.in ?? 0;
      task.output += usage?.out ?? 0;
      if (hook === undefined) this.#answers.set(id, { place: e, value, calls, told: 0 });
    }
    const hasFailed = error === true || lost !== undefined;
    const failure = hasFailed && value !== null ? objectOf(this.#json(value)) : {};
    const kind = textOf(failure['kind']) || 'failed';
    this.#line('inference', {
      task_id: task === undefined ? null : id,
      turn: turnOf(e) ?? 0,
      hook_name: hook,
      model: name,
      outcome: hasFailed ? kind : 'response',
      stop_reason: stop ?? null,
      error: failure['error'],
      usage: usage === undefined ? null : { input_tokens: usage.in, output_tokens: usage.out },
      cache_read_tokens: usage?.cache,
      start_ms: at,
      duration_ms: ms,
    });
  }

  /** The calls of the last answer up to a number that had nothing to ask outside, such as plans and what was never offered. */
  #tellCalls(id: string, upTo: number): void {
    const answer = this.#answers.get(id);
    if (answer === undefined) return;
    const end = Math.min(upTo, answer.calls.length, maxCalls);
    if (answer.told >= end) return;
    const { value, digits = {} } = answer.value === null ? { value: null } : this.#exact(answer.value);
    const asked = listOf(objectOf(objectOf(value)['response'])['content'])
      .map(({ type, input }, index) => ({ type, input, at: `/response/content/${index}/input` }))
      .filter(({ type }) => type === 'tool_call');
    for (; answer.told < end; answer.told += 1) {
      const name = answer.calls[answer.told] ?? '';
      const isUnknown = this.#tools !== null && !this.#tools.has(name);
      const call = asked[answer.told];
      const fields = {
        task_id: id,
        turn: turnOf(answer.place),
        tool_name: name,
        tool_kind: isUnknown ? 'unknown' : 'runtime',
        is_error: isUnknown,
        arguments: call?.input,
        duration_ms: 0,
      };
      this.#line('tool_call', fields, call === undefined ? undefined : digitsBelow(digits, call.at));
    }
  }

  #arrived({ at, what, task = '', principal, text }: JournalRecord<'in'>): void {
    const question = this.#questions.get(task);
    if (what === 'note' && text !== undefined) this.#recorded(this.#json(text));
    else if (what === 'stop') this.#line('session_stop', { principal });
    else if (what === 'cancel') this.#line('task_canceled', { task_id: task, queued: false, principal });
    else if (what === 'answer' && question !== undefined) {
      this.#questions.delete(task);
      const asked = { task_id: task, prompt: question.prompt, duration_ms: at - question.at };
      this.#line('task_input_required', { ...asked, outcome: 'answered', principal });
    }
  }

  #unanswered(id: string, outcome: string): void {
    const question = this.#questions.get(id);
    if (question === undefined || !this.#questions.delete(id)) return;
    const asked = { task_id: id, prompt: question.prompt, duration_ms: this.#since(question.at) };
    this.#line('task_input_required', { ...asked, outcome });
  }

  #taskEnd({ id, state, turns, message }: JournalRecord<'task-end'>): void {
    this.#tellCalls(id, Infinity);
    this.#answers.delete(id);
    const task = this.#tasks.get(id);
    const usage = { input_tokens: task?.input ?? 0, output_tokens: task?.output ?? 0 };
    this.#line('task_end', { task_id: id, state, message, turns, usage, duration_ms: this.#since(task?.at) });
  }

  #since(at: number | undefined): number {
    return Math.max(0, this.#at - (at ?? this.#at));
  }

  /** `digits` are those of its arguments. */
  #line(type: TraceEvent['event_type'], fields: JsonObject, digits: Digits = {}): void {
    this.#count += 1;
    const session = this.#open?.session ?? '';
    const line = {
      event_type: type,
      event_id: `evt_${sha256Hex(`${session} ${this.#count}`).slice(0, 32)}`,
      parent_id: null,
      session_id: session,
      timestamp: this.#at,
      ...fields,
    };
    const inLine = Object.entries(digits).map(([pointer, text]) => [`/arguments${pointer}`, text]);
    const text = inLine.length === 0 ? JSON.stringify(line) : withDigits(line, Object.fromEntries(inLine));
    this.#lines.push(Buffer.from(`${text}\n`));
  }

  /** Returns null for a text that is not there, or too much. */
  #text(sha256: string): string | null {
    if (this.#textBytes > maxTextBytes) return null;
    try {
      const body = this.#reader.body(sha256);
      if (body.kind !== 'text') return null;
      this.#textBytes += body.text.length;
      return body.text.length > maxText ? null : body.text;
    } catch (error) {
      // The journal is damaged somewhere else.
      if (error instanceof Diagnostic && error.code === 'E-RUN-073') return null;
      throw error;
    }
  }

  #json(sha256: string): unknown {
    const parsed = parseJsonText(this.#text(sha256) ?? '', maxValues);
    return parsed.kind === 'json' ? parsed.value : null;
  }

  /** The same with the digits of numbers that JavaScript rounds. */
  #exact(sha256: string): { readonly value: unknown; readonly digits?: Digits } {
    const text = this.#text(sha256) ?? '';
    const parsed = parseJsonText(text, maxValues);
    return parsed.kind === 'json' ? (exactJson(text) ?? { value: parsed.value }) : { value: null };
  }
}

function objectOf(value: unknown): JsonObject {
  return asJsonObject(value) ?? {};
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).map(objectOf) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
