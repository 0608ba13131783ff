/** Cuts the bytes of a capsule's event stream behind whole frames, without making texts of them. */

/** A frame, and what is known of it by its first bytes. */
export interface WholeFrame {
  /** The frame with the empty line that ends it. */
  readonly bytes: Buffer;
  readonly event: string;
  /** It is null for one of the connection, and for live events. */
  readonly numbered: { readonly id: string; readonly taskId: string } | null;
}

const lineFeed = 0x0a;
const frameEnd = Buffer.from('\n\n');
/** As `protocol/frames.ts` writes them: `id` where there is one, then `event`, then `data`, which begins with the task. */
const headShape = /^(?:id: (\d{1,20})\n)?event: ([\w-]{1,64})\ndata: (?:\{"id":"([^"\\]{1,128})")?/;
const maxHead = 300;

/** Cuts the bytes of one connection. A cut frame is never given. */
export class WholeFrames {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** A frame is longer than it may be: nothing can be read after it. */
  get isTooLong(): boolean {
    return this.#held > this.#maxBytes;
  }

  /** All frames that this piece completes, in one; empty when it completes none. */
  take(given: Uint8Array): Buffer {
    const piece = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    const end = this.#endIn(piece);
    if (end === 0) {
      this.#pieces.push(piece);
      this.#held += piece.length;
      return piece.subarray(0, 0);
    }
    const last = piece.subarray(0, end);
    const whole = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#pieces = end === piece.length ? [] : [piece.subarray(end)];
    this.#held = piece.length - end;
    return whole;
  }

  /** The place behind the last frame that ends in a piece; 0 where none does. */
  #endIn(piece: Buffer): number {
    const last = piece.lastIndexOf(frameEnd);
    if (last >= 0) return last + frameEnd.length;
    const straddles = piece[0] === lineFeed && this.#pieces.at(-1)?.at(-1) === lineFeed;
    return straddles ? 1 : 0;
  }
}

/** Each frame of several whole ones. */
export function* framesIn(whole: Buffer): Generator<WholeFrame> {
  for (let start = 0; start < whole.length;) {
    const end = whole.indexOf(frameEnd, start);
    const next = end < 0 ? whole.length : end + frameEnd.length;
    const [, id, event = '', taskId] = headShape.exec(whole.toString('latin1', start, start + maxHead)) ?? [];
    const numbered = id === undefined || taskId === undefined ? null : { id, taskId };
    yield { bytes: whole.subarray(start, next), event, numbered };
    start = next;
  }
}
