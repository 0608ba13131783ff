/** Writes to the editor, and leaves with the sessions what it does not take. */

import type { Readable } from 'node:stream';

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { jsonLine } from '@svc/terminal/screen/shown.ts';

/** The standard output of an agent. What is said by its sessions is not read while the editor leaves something lying. */
export class EditorOutput {
  readonly #output: Output;
  readonly #sources = new Set<Readable>();
  #isFull = false;

  constructor(output: Output) {
    this.#output = output;
    // When the editor has gone, the sessions are still heard to their end.
    output.stream.on('drain', () => this.#flow(true)).on('error', () => this.#flow(true));
  }

  write(message: JsonObject): void {
    if (!this.#output.write(jsonLine(message)) && this.#output.untaken > 0) this.#flow(false);
  }

  /** Reads the source, which somebody listens to, only while the editor takes what is written. */
  follow(source: Readable): void {
    this.#sources.add(source);
    source.once('close', () => this.#sources.delete(source));
    if (this.#isFull) source.pause();
  }

  /** Has it read to its end, whatever the editor does. */
  release(source: Readable): void {
    this.#sources.delete(source);
    source.resume();
  }

  #flow(isTaken: boolean): void {
    this.#isFull = !isTaken;
    for (const source of this.#sources) {
      if (isTaken) source.resume();
      else source.pause();
    }
  }
}
