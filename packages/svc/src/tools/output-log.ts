import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';

/** What became of a log: its name below the session directory, and why it does not hold everything, if so. */
export interface OutputLogReceipt {
  readonly name: string;
  readonly problem: string | null;
}

/** What a log may keep: of this output, and with all others of its session. */
export interface LogLimits {
  readonly maxBytes: number;
  readonly budget: LogBudget;
}

/**
 * One file that keeps the whole of a long output, as far as its limits go. A disk that is full or broken ends the keeping and
 * nothing else: the receipt says so.
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
      const code = errorCode(error);
      if (code === undefined) throw error;
      this.#problem ??= code === 'ENOSPC' ? 'the disk is full' : `the log cannot be written (${code})`;
    }
  }
}
