import type { Readable } from 'node:stream';

import { readOutput } from './read-output.ts';

/** The last bytes of an output that is otherwise thrown away, for saying why a process failed. */
export class OutputTail {
  readonly #maxBytes: number;
  #kept: Buffer = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Reads to the end. */
  async read(output: Readable): Promise<void> {
    for await (const chunk of readOutput(output)) {
      this.#kept = Buffer.from(Buffer.concat([this.#kept, chunk]).subarray(-this.#maxBytes));
    }
  }

  /** What was kept so far, without blanks around it. */
  text(): string {
    return this.#kept.toString('utf8').trim();
  }
}
