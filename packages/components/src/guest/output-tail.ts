/** Keeps the last of what a component wrote to its output, to be shown when it breaks off. */

import { alwaysReady } from './io.ts';
import { type ByteSink, transferBytes } from './streams.ts';

const keptBytes = 8 * 1024;

/** The end of what a component wrote to stdout and stderr. Earlier bytes are forgotten, and nothing is printed. */
export class OutputTail {
  readonly #tell: (bytes: Uint8Array) => void;
  #kept: Buffer = Buffer.alloc(0);

  /** `tell` is given everything as it is written, in bytes of its own. */
  constructor(tell: (bytes: Uint8Array) => void = () => {}) {
    this.#tell = tell;
  }

  sink(): ByteSink {
    return {
      room: () => transferBytes,
      write: (bytes) => {
        const joined = Buffer.concat([this.#kept, bytes.subarray(-keptBytes)]);
        this.#kept = joined.subarray(-keptBytes);
        this.#tell(new Uint8Array(bytes));
      },
      waitForRoom: () => {},
      flush: () => {},
      readiness: alwaysReady,
      close: () => {},
    };
  }

  /** The last lines, without control characters, at most `maxLines`. */
  lastLines(maxLines: number): string {
    const text = this.#kept.toString('utf8').replaceAll(/[^\P{Cc}\n]/gu, '');
    return text.trim().split('\n').slice(-maxLines).join('\n');
  }

  clear(): void {
    this.#kept = Buffer.alloc(0);
  }
}
