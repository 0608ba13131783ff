/** Takes secrets out of what comes piece by piece, a line at a time. */

import { GatheredBytes } from '../gathered-bytes.ts';

/** How much is held of a line that has not ended. */
const maxHeld = 64 * 1024;
/** Stays back when a line is given out early: it may begin a secret. */
const maxSecret = 8 * 1024;

const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

/**
 * Lines without secrets, each given out once it has ended, and the beginning of a longer one than 64 KiB before: a secret that comes in pieces is
 * found, in such a line one of up to 8 KiB. Bytes that are no text stay as they are where there is no secret in them.
 */
export class RedactedLines {
  readonly #redact: (text: string) => string;
  readonly #held = new GatheredBytes();

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  /** What can be given out now; often empty. */
  take(piece: Buffer): Buffer {
    const end = piece.lastIndexOf(lineFeed) + 1;
    const lines = end === 0 ? nothing : this.#clean(this.#held.takeWith(piece.subarray(0, end)));
    this.#held.append(piece.subarray(end));
    return this.#held.length > maxHeld ? Buffer.concat([lines, this.#cut()]) : lines;
  }

  /** What is held at the end, when nothing more comes. */
  rest(): Buffer {
    return this.#clean(this.#held.take());
  }

  #cut(): Buffer {
    const clean = this.rest();
    this.#held.append(clean.subarray(-maxSecret));
    return clean.subarray(0, -maxSecret);
  }

  #clean(bytes: Buffer): Buffer {
    const text = bytes.toString();
    const clean = this.#redact(text);
    return clean === text ? bytes : Buffer.from(clean);
  }
}
