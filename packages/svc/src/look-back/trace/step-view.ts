/** Lays out one step of a session for people: what was asked, and what came back. */

import { shownBytes, shownCount, shownDuration } from '@svc/kit/shown-values.ts';
import type { BodyReading, JournalReader, Step } from '@svc/record/journal/journal-reader.ts';
import { type JournalRecord, type StartRecord, turnOf } from '@svc/record/journal/records.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import type { Page } from '@svc/terminal/screen/page.ts';
import { say, type Shown, unfenced } from '@svc/terminal/screen/shown.ts';

const maxName = 100;
/** Limit for what happened within a step. */
const maxWithin = 4 * 1024 * 1024;

type ModelStart = Extract<StartRecord, { port: 'model' }>;

/** The views of a session's steps and texts; everything is laid out for one page, in order. */
export class StepView {
  readonly #page: Page;
  readonly #reader: JournalReader;

  constructor(page: Page, reader: JournalReader) {
    this.#page = page;
    this.#reader = reader;
  }

  /** `before` is the number of the step whose request this one extends; null for a request that begins anew, and for no request. */
  step(step: Step, before: number | null): string {
    const { start, end } = step;
    const asked = start.port === 'model' ? this.#request(start, before) : this.#text(say`input:`, start.in);
    return this.#head(step) + asked + this.#within(step) + (end === null ? '' : this.#end(end, start));
  }

  /** A text of the session under a label of `svc`. */
  text(label: Shown, sha256: string): string {
    return this.#text(label, sha256);
  }

  #head({ number, start, end }: Step): string {
    const turn = turnOf(start.e);
    const time = end === null ? 'not ended' : (end.lost ?? shownDuration(end.ms));
    return this.#page.own(
      say`#${number}  ${start.port} ${shortName(start.name)}  ${turn === null ? '' : `turn ${turn}  `}${time}\nplace: ${start.e}\n`,
    );
  }

  #request({ fixed, base, add, cont }: ModelStart, before: number | null): string {
    const parts = this.#json(fixed) as { maxTokens?: unknown; system?: unknown; tools?: unknown } | null;
    const limit = typeof parts?.maxTokens === 'number' ? `, at most ${shownCount(parts.maxTokens)} tokens` : '';
    const known = [this.#sizeOf(parts?.system, 'system prompt'), this.#sizeOf(parts?.tools, 'tools')].join(', ');
    const count = add.length === 1 ? '1 message' : `${add.length} messages`;
    const base_ =
      base === null
        ? `begins anew, with ${count}`
        : `goes on from ${before === null ? base : `#${before}`}, with ${count} more`;
    const continued = cont !== undefined ? ', and an id to go on from' : '';
    const head = this.#page.own(say`fixed part: ${known}${limit}\nrequest: ${base_}${continued}\n`);
    return head + add.map((sha256) => this.#message(sha256)).join('');
  }

  #sizeOf(hash: unknown, what: string): string {
    const body = typeof hash === 'string' ? this.#reader.body(hash) : null;
    if (body === null) return `${what} unknown`;
    return body.kind === 'text' ? `${what} ${shownBytes(Buffer.byteLength(body.text))}` : `${what} ${missing(body)}`;
  }

  #message(sha256: string): string {
    const body = this.#reader.body(sha256);
    if (body.kind !== 'text') return this.#page.own(say`message: ${missing(body)}\n`);
    const message = parsed(body.text) as { role?: unknown; content?: unknown; isError?: unknown } | null;
    const role = typeof message?.role === 'string' ? message.role : 'message';
    const failed = message?.isError === true ? ', failed' : '';
    return this.#blocks(say`${shortName(role)}${failed}:`, message?.content, body.text);
  }

  /** Blocks of a message or an answer; what has another shape is shown as the JSON that it is. */
  #blocks(label: Shown, content: unknown, json: string): string {
    if (!Array.isArray(content)) return this.#page.headed(label, json);
    return content.map((block: unknown, index) => this.#block(index === 0 ? label : say`and:`, block)).join('');
  }

  #block(label: Shown, block: unknown): string {
    const { type, text, name, input } = (block ?? {}) as {
      type?: unknown;
      text?: unknown;
      name?: unknown;
      input?: unknown;
    };
    if (type === 'tool_call' && typeof name === 'string') {
      return this.#page.headed(say`-> ${shortName(name)}`, JSON.stringify(input) ?? '');
    }
    if (typeof text === 'string') {
      return this.#page.headed(type === 'thinking' ? say`thinking:` : label, unfenced(text, ''));
    }
    return this.#page.headed(label, JSON.stringify(block) ?? '');
  }

  #within(step: Step): string {
    return [...this.#reader.within(step, maxWithin)].map((record) => this.#asked(record)).join('');
  }

  #asked({ what, value }: JournalRecord<'ask'>): string {
    return this.#text(what === 'record' ? say`recorded:` : say`asked for ${what}:`, value);
  }

  #end(end: JournalRecord<'end'>, start: StartRecord): string {
    if (end.value === null) return this.#page.own(say`result: ${end.lost ?? 'none'}\n`);
    const words = [
      end.stop,
      end.exit === undefined ? undefined : `exit ${end.exit}`,
      end.error === true ? 'failed' : undefined,
    ];
    const usage = end.usage === undefined ? [] : [usageOf(end.usage)];
    const known = [...words.filter((word) => word !== undefined), ...usage].join(', ');
    const label = say`${start.port === 'model' ? 'answer' : 'result'}${known === '' ? '' : ` (${known})`}:`;
    const body = this.#reader.body(end.value);
    if (body.kind !== 'text') return this.#text(label, end.value);
    const outcome = parsed(body.text) as {
      response?: { content?: unknown };
      content?: unknown;
      error?: unknown;
    } | null;
    const content = outcome?.response?.content ?? outcome?.content;
    if (typeof content === 'string') return this.#page.headed(label, unfenced(content, ''));
    return this.#blocks(label, content, body.text);
  }

  #text(label: Shown, sha256: string): string {
    const body = this.#reader.body(sha256);
    if (body.kind === 'text') return this.#page.headed(label, pretty(body.text));
    if (body.kind !== 'cut') return this.#page.own(say`${label} ${missing(body)}\n`);
    const { head, tail, bytes } = body;
    return (
      this.#page.headed(label, head) +
      this.#page.own(say`… of ${shownBytes(bytes)}, the journal has both ends:\n`) +
      this.#page.headed(say`…`, tail)
    );
  }

  #json(sha256: string): unknown {
    const body = this.#reader.body(sha256);
    return body.kind === 'text' ? parsed(body.text) : null;
  }
}

function usageOf({ in: input, out, cache }: { in: number; out: number; cache?: number | undefined }): string {
  return `${shownCount(input)} in, ${shownCount(out)} out${cache === undefined ? '' : `, cache ${shownCount(cache)}`}`;
}

function shortName(name: string): string {
  return inertLine(name, maxName);
}

/** Why a text is not there, in brackets. */
export function missing(body: Exclude<BodyReading, { kind: 'text' }>): string {
  return body.kind === 'damaged' ? `(damaged: ${body.why})` : `(${shownBytes(body.bytes)}, ${body.kind})`;
}

/** Each level indents all that is in it: a longer text could become a hundred times as long. */
const maxPretty = 1024 * 1024;

/** JSON with its lines; any other text, and one that is very long, as it is. */
function pretty(text: string): string {
  const value = text.length > maxPretty ? null : parsed(text);
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text;
}
