/** Keeps the last part of an output, for a message about a process that failed. */

import type { Readable } from 'node:stream';

import { readOutput } from './read-output.ts';

/** The last bytes of an output that is otherwise thrown away, for saying why a process failed; the first ones too where they are asked for. */
export class OutputTail {
  readonly #maxBytes: number;
  readonly #maxHeadBytes: number;
  #head: Buffer = Buffer.alloc(0);
  #kept: Buffer = Buffer.alloc(0);
  #dropped = false;

  constructor(maxBytes: number, maxHeadBytes = 0) {
    this.#maxBytes = maxBytes;
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** Reads to the end. */
  async read(output: Readable): Promise<void> {
    for await (const chunk of readOutput(output)) {
      this.#take(chunk);
    }
  }

  #take(chunk: Buffer): void {
    const room = this.#maxHeadBytes - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const all = Buffer.concat([this.#kept, chunk.subarray(Math.max(room, 0))]);
    this.#dropped ||= all.length > this.#maxBytes;
    this.#kept = Buffer.from(all.subarray(-this.#maxBytes));
  }

  /** What was kept so far, without blanks around it; where something between was dropped, a line `…` stands for it. */
  text(): string {
    const between = this.#dropped && this.#head.length > 0 ? '\n…\n' : '';
    return `${this.#head.toString('utf8')}${between}${this.#kept.toString('utf8')}`.trim();
  }
}
