/** Opens standard output and standard error when something is printed. */

import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** What a pipe takes whole or not at all (`PIPE_BUF` of Linux). */
const wholeAtOnce = 4096;

/** Where a command prints. Each stream is opened when something is printed: making one takes a good part of a start. */
export class StandardStreams {
  #hasBegun = false;
  #stdout: NodeJS.WriteStream | null = null;
  #stderr: NodeJS.WriteStream | null = null;
  #lost: NodeJS.ErrnoException | null = null;

  get stdout(): NodeJS.WriteStream {
    if (this.#stdout !== null) return this.#stdout;
    this.#hasBegun = true;
    this.#stdout = process.stdout;
    this.#stdout.on('error', (error: NodeJS.ErrnoException) => {
      // A reader that went away (`svc list | head`) is no failure of ours.
      if (error.code !== 'EPIPE') this.#lost ??= error;
    });
    return this.#stdout;
  }

  /**
   * Writes the first text, a short one, into the pipe or the socket that standard output is, without the stream; false where nothing was
   * written, and the stream has to take it. It does not wait for a reader of a pipe, and leaves the flags of both as the parent has set them.
   */
  writeFirst(text: string): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    const bytes = Buffer.from(text);
    if (bytes.length > wholeAtOnce) return false;
    const written = unlessRefused(() => {
      // As `main.ts` does: plain numbers of a pipe would lead Node to wrong paths of modules.
      const kind = fstatSync(1, { bigint: true });
      if (kind.isSocket()) return writeSync(1, bytes);
      return kind.isFIFO() ? writeUnlessFull(bytes) : 0;
    }, 0);
    if (written === 0) return false;
    if (written < bytes.length) this.stdout.write(bytes.subarray(written));
    return true;
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

/** Throws `EAGAIN` where the pipe is full: it is opened anew for that, since a flag that is set on standard output is set for all who share it. */
function writeUnlessFull(bytes: Uint8Array): number {
  const pipe = openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return writeSync(pipe, bytes);
  } finally {
    closeSync(pipe);
  }
}
