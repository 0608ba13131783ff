/** Reads the notes that a driver's component writes to standard error: that it waits before it asks again, which tool it left out, and what a cache had. */

import { asJsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a provider reported of one call. */
export interface ReportedUsage extends Usage {
  /** How many input tokens the provider had in its cache already, and how many it has put there. Absent if it does not say. */
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

/** A driver waits, and asks the model again then. */
export interface RetryWait {
  readonly waitMs: number;
  /** Which of the repetitions it will be, from 1, and how many there may be. */
  readonly attempt: number;
  readonly of: number;
}

/** A tool that the provider refused, and with which words; it is asked without the tool. */
export interface LeftOutTool {
  readonly tool: string;
  readonly reason: string;
}

/** What a driver may note (docs/drivers.md "Notes"). */
export type DriverNote =
  | ({ readonly kind: 'retry' } & RetryWait)
  | ({ readonly kind: 'left-out' } & LeftOutTool)
  | { readonly kind: 'cache'; readonly tokens: Pick<ReportedUsage, 'cacheReadTokens' | 'cacheWriteTokens'> };

const prefix = 'svc-note: ';
/** In bytes; a longer line is no note. */
const maxLine = 1024;
/** Values in the JSON of a note. */
const maxValues = 16;
/** A component notes as often as it likes. What is more than this in one call is not read. */
const maxNotes = 256;
const lineFeed = 0x0a;

/** The notes of one call, in lines that may come in pieces. What is no note is passed over. */
export class DriverNotes {
  readonly #take: (note: DriverNote) => void;
  #line: Buffer = Buffer.alloc(0);
  #isTooLong = false;
  #notes = 0;

  constructor(take: (note: DriverNote) => void) {
    this.#take = take;
  }

  write(bytes: Uint8Array): void {
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let end = rest.indexOf(lineFeed); end !== -1; end = rest.indexOf(lineFeed)) {
      this.#add(rest.subarray(0, end));
      this.#endLine();
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
  }

  #add(bytes: Buffer): void {
    if (this.#notes >= maxNotes || this.#isTooLong) return;
    this.#isTooLong = this.#line.length + bytes.length > maxLine;
    this.#line = this.#isTooLong ? Buffer.alloc(0) : Buffer.concat([this.#line, bytes]);
  }

  #endLine(): void {
    const note = this.#isTooLong ? null : parseDriverNote(this.#line.toString('utf8'));
    this.#line = Buffer.alloc(0);
    this.#isTooLong = false;
    if (note === null) return;
    this.#notes += 1;
    this.#take(note);
  }
}

/** Returns null for a line that is not a note, or one that is not known. */
export function parseDriverNote(line: string): DriverNote | null {
  if (!line.startsWith(prefix)) return null;
  const json = parseJsonText(line.slice(prefix.length), maxValues);
  const note = json.kind === 'json' ? asJsonObject(json.value) : null;
  const [retry, cache] = [asJsonObject(note?.['retry']), asJsonObject(note?.['cache'])];
  const leftOut = asJsonObject(note?.['left_out']);
  if (leftOut !== null) {
    const { tool, reason } = leftOut;
    return typeof tool === 'string' && typeof reason === 'string' ? { kind: 'left-out', tool, reason } : null;
  }
  if (retry !== null) {
    const [waitMs, attempt, of] = [retry['wait_ms'], retry['attempt'], retry['of']].map(count);
    return waitMs === undefined || attempt === undefined || of === undefined
      ? null
      : { kind: 'retry', waitMs, attempt, of };
  }
  if (cache === null) return null;
  const [read, written] = [count(cache['read']), count(cache['write'])];
  const tokens = {
    ...(read === undefined ? {} : { cacheReadTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
  };
  return { kind: 'cache', tokens };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
