import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What became of a log: its name below the session directory, and why it does not hold everything, if so. */
export interface OutputLogReceipt {
  readonly name: string;
  readonly problem: string | null;
}

/**
 * One file that keeps the whole of a long output, up to `maxBytes`. A disk that is full or broken ends the keeping and
 * nothing else: the receipt says so.
 */
export class OutputLog {
  readonly #path: string;
  readonly #name: string;
  readonly #maxBytes: number;
  #file: FileHandle | null = null;
  #bytes = 0;
  #problem: string | null = null;

  /** `name` is below `sessionDirectory` and must not exist yet. */
  constructor(sessionDirectory: string, name: string, maxBytes: number) {
    this.#path = join(sessionDirectory, name);
    this.#name = name;
    this.#maxBytes = maxBytes;
  }

  async append(chunk: Buffer): Promise<void> {
    if (this.#problem !== null) return;
    const fitting = chunk.subarray(0, this.#maxBytes - this.#bytes);
    await this.#keepGoing(async () => {
      this.#file ??= await this.#create();
      await this.#file.appendFile(fitting);
      this.#bytes += fitting.length;
    });
    if (fitting.length < chunk.length) this.#problem ??= `only the first ${this.#maxBytes} bytes are kept`;
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
      const code = (error as NodeJS.ErrnoException).code;
      if (code === undefined) throw error;
      this.#problem ??= code === 'ENOSPC' ? 'the disk is full' : `the log cannot be written (${code})`;
    }
  }
}
