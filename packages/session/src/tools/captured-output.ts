/** Captures the output of a program: its beginning in memory, all of it in a log. */

import type { Readable } from 'node:stream';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { readOutput } from '@svc/sandbox/launched-process.ts';
import { refusalCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';

export interface CapturedOutput {
  /** The output, cut at the limit between two characters and not within a secret. Bytes that are no UTF-8 show as U+FFFD. */
  readonly text: string;
  /** Bytes that `text` does not show. */
  readonly cutBytes: number;
  /** Where the whole output is; null when nothing was cut and nobody asked for a log. */
  readonly log: OutputLogReceipt | null;
}

/** Removes the beginning of a secret at the end of a cut text, which a redactor would not find any more. */
export type CutBefore = (text: string) => string;

interface CaptureSettings {
  /** How much of the output `text` shows. */
  readonly maxBytes: number;
  readonly log: OutputLog;
  readonly cutBefore: CutBefore;
  /** Called with each piece as it comes. */
  readonly onPiece?: (bytes: Buffer) => void;
}

/** The whole output, once it has ended. */
export function captureOutput(output: Readable, settings: CaptureSettings): Promise<CapturedOutput> {
  return new OutputCapture(output, settings).finished;
}

/** Reads an output to its end and keeps the beginning of it; a longer one goes whole to the log. Memory use is bounded. */
export class OutputCapture {
  readonly finished: Promise<CapturedOutput>;
  readonly #settings: CaptureSettings;
  #head: Buffer = Buffer.alloc(0);
  #totalBytes = 0;
  #isLogged = false;
  #logged: Promise<void> = Promise.resolve();

  constructor(output: Readable, settings: CaptureSettings) {
    this.#settings = settings;
    this.finished = this.#read(output);
  }

  /** The output so far. From now on the log has all of it, however short it stays. */
  keepOn(): Pick<CapturedOutput, 'text' | 'cutBytes'> {
    this.#beginLog();
    const { text, secretBytes, cutBytes } = this.#shown();
    // A character that is only half there is not cut off: the rest of it is still to come.
    return { text, cutBytes: this.#totalBytes > this.#settings.maxBytes ? cutBytes : secretBytes };
  }

  async #read(output: Readable): Promise<CapturedOutput> {
    for await (const chunk of readOutput(output)) await this.#take(chunk);
    const log = this.#isLogged ? await this.#closeLog() : null;
    if (this.#totalBytes <= this.#settings.maxBytes) return { text: this.#head.toString('utf8'), cutBytes: 0, log };
    const { text, cutBytes } = this.#shown();
    return { text, cutBytes, log };
  }

  async #take(chunk: Buffer): Promise<void> {
    const { maxBytes } = this.#settings;
    const before = this.#totalBytes;
    this.#totalBytes += chunk.length;
    this.#settings.onPiece?.(chunk);
    if (this.#totalBytes > maxBytes) this.#beginLog();
    if (this.#isLogged) this.#append(chunk);
    if (before < maxBytes) this.#head = Buffer.concat([this.#head, chunk.subarray(0, maxBytes - before)]);
    await this.#logged;
  }

  /** Until then the head is everything. */
  #beginLog(): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.#append(this.#head);
  }

  #append(bytes: Buffer): void {
    this.#logged = this.#logged.then(() => this.#settings.log.append(bytes));
  }

  async #closeLog(): Promise<OutputLogReceipt> {
    await this.#logged;
    return await this.#settings.log.close();
  }

  #shown(): { readonly text: string; readonly secretBytes: number; readonly cutBytes: number } {
    const shown = this.#head.subarray(0, characterBoundary(this.#head));
    const whole = shown.toString('utf8');
    const text = this.#settings.cutBefore(whole);
    const secretBytes = Buffer.byteLength(whole.slice(text.length));
    return { text, secretBytes, cutBytes: this.#totalBytes - shown.length + secretBytes };
  }
}

/** The length of `bytes` without a character at its end that lacks bytes. */
function characterBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The outcome of a log: its name below the session directory, and why it is incomplete, if so. */
interface OutputLogReceipt {
  readonly name: string;
  readonly problem: string | null;
}

/** The limits of a log: for this output, and for all logs of its session. */
interface LogLimits {
  readonly maxBytes: number;
  readonly budget: LogBudget;
}

/**
 * One file with the whole of a long output, within its limits. A full or broken disk ends only the log, and
 * the receipt says so.
 */
export class OutputLog {
  readonly #path: string;
  readonly #name: string;
  readonly #limits: LogLimits;
  #file: FileHandle | null = null;
  #bytes = 0;
  #problem: string | null = null;

  /** `name` is below `sessionDirectory` and must not exist yet. */
  constructor(sessionDirectory: string, name: string, limits: LogLimits) {
    this.#path = join(sessionDirectory, name);
    this.#name = name;
    this.#limits = limits;
  }

  async append(chunk: Buffer): Promise<void> {
    if (this.#problem !== null) return;
    const { maxBytes, budget } = this.#limits;
    const wanted = Math.min(chunk.length, maxBytes - this.#bytes);
    const fitting = chunk.subarray(0, budget.take(wanted));
    if (fitting.length > 0) {
      await this.#keepGoing(async () => {
        this.#file ??= await this.#create();
        await this.#file.appendFile(fitting);
        this.#bytes += fitting.length;
      });
    }
    if (fitting.length < wanted) {
      const all = `all logs of a session hold ${budget.maxBytes} bytes at most`;
      this.#problem ??= `only the first ${this.#bytes} bytes are kept: ${all}`;
    } else if (wanted < chunk.length) {
      this.#problem ??= `only the first ${maxBytes} bytes are kept`;
    }
  }

  async close(): Promise<OutputLogReceipt> {
    await this.#keepGoing(async () => this.#file?.close());
    this.#file = null;
    return { name: this.#name, problem: this.#problem };
  }

  async #create(): Promise<FileHandle> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    return await open(this.#path, 'ax', 0o600);
  }

  async #keepGoing(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      const code = refusalCode(error);
      this.#problem ??= code === 'ENOSPC' ? 'the disk is full' : `the log cannot be written (${code})`;
    }
  }
}
