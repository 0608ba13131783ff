/** Makes of the rows of a recorded session what a person saw while it ran. */

import { shownBytes } from '@svc/kit/shown-values.ts';
import type { Step } from '@svc/record/journal/journal-reader.ts';
import type { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import { type EndRecord, type JournalRecord, questionAt } from '@svc/record/journal/records.ts';
import type { RecordedQuestion, RecordedRow } from './recorded-rows.ts';
import type { SessionEvent } from './session-event.ts';

/** An event, and the Unix milliseconds at which it came. */
export interface TimedEvent {
  readonly atMs: number;
  readonly event: SessionEvent;
}

const callPlace = /^(.+?)\/\d{1,9}\/m\d{1,9}\/t\d{1,9}$/;
const ports: ReadonlySet<string> = new Set(['tool', 'shell', 'mcp', 'child']);

type Call = Pick<Extract<SessionEvent, { kind: 'result' }>['result'], 'callId' | 'name' | 'input' | 'digits'>;

/** The events of one session, row by row, in the order of the rows. */
export class RecordedEvents {
  readonly #texts: PassedTexts;
  #running: string | null = null;
  #atMs = 0;

  constructor(texts: PassedTexts) {
    this.#texts = texts;
  }

  /** Whether a task has begun and not ended. */
  get isInTask(): boolean {
    return this.#running !== null;
  }

  *of(row: RecordedRow): Generator<TimedEvent> {
    for (const event of this.#events(row)) yield { atMs: this.#atMs, event };
  }

  *#events(row: RecordedRow): Generator<SessionEvent> {
    switch (row.kind) {
      case 'task':
        this.#atMs = row.record.at;
        return yield this.#said(row.record);
      case 'step':
        return yield* this.#step(row);
      case 'refused': {
        const { call, content, isDenied: isRefused } = row;
        const unknown = { exitCode: null, isCut: false, durationMs: null, step: null };
        const made = { callId: call.id, name: call.name, input: call.input, digits: call.digits };
        return yield {
          kind: 'result',
          result: { ...made, content: content ?? '', isError: true, isRefused, ...unknown },
        };
      }
      case 'end': {
        const { at, id: taskId, state, message } = row.record;
        this.#atMs = at;
        this.#running = null;
        return yield { kind: 'task-ended', taskId, state, reason: state === 'failed' ? message : null };
      }
    }
  }

  #said({ id: taskId, origin, text }: JournalRecord<'task'>): SessionEvent {
    const by = origin === 'peer' || origin === 'completion' ? origin : 'user';
    return { kind: 'said', taskId, text: this.#text(text), by, waiting: 0 };
  }

  *#step({ step, questions, call }: Extract<RecordedRow, { kind: 'step' }>): Generator<SessionEvent> {
    const { start } = step;
    if (start.port === 'model') {
      const asked = questionAt(start.e);
      if (asked !== null) yield* this.#turn(step, asked.taskId, asked.turn);
      return;
    }
    if (start.port === 'hook') return yield* this.#shortened(step);
    const [, taskId] = callPlace.exec(start.e) ?? [];
    if (taskId === undefined || !ports.has(start.port)) return;
    this.#atMs = start.at;
    const made: Call = {
      callId: call?.id ?? null,
      name: call?.name ?? start.name,
      input: call === null ? this.#json(start.in) : call.input,
      digits: call?.digits,
    };
    yield { kind: 'call', ...made };
    for (const question of questions) yield* this.#question(taskId, question);
    if (step.end !== null) yield* this.#result(step, step.end, made);
  }

  *#shortened({ start, end }: Step): Generator<SessionEvent> {
    if (!start.e.includes('/h-on-compaction') || end === null || end.value === null || end.error === true) return;
    const outcome = this.#json(end.value) as { kind?: unknown } | null;
    if (outcome?.kind !== 'replace-context') return;
    this.#atMs = end.at;
    yield { kind: 'shortened', by: start.name };
  }

  *#turn({ start, end }: Step, taskId: string, turn: number): Generator<SessionEvent> {
    this.#atMs = start.at;
    if (this.#running !== taskId) yield { kind: 'task-started', taskId };
    this.#running = taskId;
    yield { kind: 'turn', taskId, turn };
    if (end === null) return;
    const hasStreamed = yield* this.#chunks(end, taskId);
    const texts = hasStreamed || end.value === null ? [] : textsOf(this.#json(end.value));
    if (texts.length > 0) yield { kind: 'text', taskId, text: texts.join('\n') };
    yield { kind: 'text-ended' };
    this.#atMs = end.at;
    if (end.usage !== undefined) yield { kind: 'usage', tokens: end.usage.in + end.usage.out };
  }

  /** What was shown while the answer came; whether a text was. */
  *#chunks({ chunks }: EndRecord, taskId: string): Generator<SessionEvent, boolean> {
    const shown = chunks === undefined ? null : this.#json(chunks);
    let hasText = false;
    for (const chunk of Array.isArray(shown) ? shown : []) {
      const [kind, text] = Array.isArray(chunk) ? (chunk as unknown[]) : [];
      if (typeof text !== 'string') continue;
      hasText ||= kind === 'text';
      if (kind === 'retry') yield { kind, reason: text, wait: null };
      else if (kind === 'text' || kind === 'thinking') yield { kind, taskId, text };
    }
    return hasText;
  }

  *#question(taskId: string, { prompt, answer }: RecordedQuestion): Generator<SessionEvent> {
    const waitId = prompt;
    const asked = this.#json(prompt);
    yield { kind: 'question', taskId, waitId, prompt: typeof asked === 'string' ? asked : this.#text(prompt) };
    const [end, text] = answer === null ? (['canceled', null] as const) : (['answered', this.#text(answer)] as const);
    yield { kind: 'question-settled', taskId, waitId, end, answer: text };
  }

  /** A call without a result was cut off: the end of its task says so. */
  *#result({ number, start }: Step, end: EndRecord, made: Call): Generator<SessionEvent> {
    const [taskId = ''] = start.e.split('/', 1);
    if (yield* this.#chunks(end, taskId)) yield { kind: 'text-ended' };
    this.#atMs = end.at;
    if (end.value === null) return;
    const outcome = this.#json(end.value) as { content?: unknown; status?: unknown; truncated?: unknown } | null;
    const content = typeof outcome?.content === 'string' ? outcome.content : this.#text(end.value);
    const isError = outcome?.status === 'failed' || (end.error === true && end.exit === undefined);
    const ended = { exitCode: end.exit ?? null, isCut: outcome?.truncated === true, durationMs: end.ms, step: number };
    yield { kind: 'result', result: { ...made, content, isError, isRefused: false, ...ended } };
  }

  #text(sha256: string): string {
    const body = this.#texts.body(sha256);
    if (body.kind === 'text') return body.text;
    if (body.kind === 'cut') return `${body.head}\n… of ${shownBytes(body.bytes)}\n${body.tail}`;
    return body.kind === 'damaged' ? `(damaged: ${body.why})` : `(${shownBytes(body.bytes)}, ${body.kind})`;
  }

  #json(sha256: string): unknown {
    const body = this.#texts.body(sha256);
    return body.kind === 'text' ? parsed(body.text) : null;
  }
}

function textsOf(outcome: unknown): readonly string[] {
  const content = (outcome as { response?: { content?: unknown } } | null)?.response?.content;
  const blocks = (Array.isArray(content) ? content : []) as ({ type?: unknown; text?: unknown } | null)[];
  return blocks.flatMap((block) => (block?.type === 'text' && typeof block.text === 'string' ? [block.text] : []));
}
