/** Opens standard output and standard error when something is printed. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** Where a command prints. Each stream is opened when something is printed: making one takes a good part of a start. */
export class StandardStreams {
  #stdout: NodeJS.WriteStream | null = null;
  #stderr: NodeJS.WriteStream | null = null;
  #lost: NodeJS.ErrnoException | null = null;

  get stdout(): NodeJS.WriteStream {
    if (this.#stdout !== null) return this.#stdout;
    this.#stdout = process.stdout;
    this.#stdout.on('error', (error: NodeJS.ErrnoException) => {
      // A reader that went away (`svc list | head`) is no failure of ours.
      if (error.code !== 'EPIPE') this.#lost ??= error;
    });
    return this.#stdout;
  }

  get stderr(): NodeJS.WriteStream {
    if (this.#stderr !== null) return this.#stderr;
    this.#stderr = process.stderr;
    // There is nowhere left to say it.
    this.#stderr.on('error', () => {});
    return this.#stderr;
  }

  /** `E-IO-001` when standard output took less than it was given: a full disk, say. */
  loss(): Diagnostic | null {
    if (this.#lost === null) return null;
    return new Diagnostic('E-IO-001', `standard output could not be written: ${this.#lost.message}`);
  }
}
