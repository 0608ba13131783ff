/** Takes large bodies from a registry and hands them to it, over connections that may be cut. */

import { createHash } from 'node:crypto';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HttpAnswer } from '@svc/kit/net/http-client.ts';
import type { OutgoingBody } from '@svc/kit/net/request-run.ts';
import type { Descriptor } from './documents.ts';

/** In a row, that brought nothing. */
export const maxAttempts = 4;
/** For one download. A connection that brought fewer bytes counts as failed. */
const [maxConnections, fewestBytes, betweenAttemptsMs] = [200, 64 * 1024, 250];

/** The bytes of a blob. `ask` opens a connection from a byte on; what comes is counted, hashed and handed on. */
export async function* resumed(
  { digest, size }: Descriptor,
  label: string,
  ask: (at: number) => Promise<HttpAnswer>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let at = 0;
  let vain = 0;
  for (let attempt = 1; at < size || attempt === 1; attempt += 1) {
    const before = at;
    try {
      const answer = await ask(at);
      // A registry that knows no ranges begins again.
      let skip = answer.status === 206 ? 0 : at;
      for await (const whole of answer.body()) {
        const piece = whole.subarray(Math.min(skip, whole.length));
        skip -= whole.length - piece.length;
        if (at + piece.length > size) throw new Diagnostic('E-REG-002', `${label} sends more than it announced`);
        hash.update(piece);
        at += piece.length;
        if (piece.length > 0) yield piece;
      }
      if (at < size) throw new Diagnostic('E-IO-003', `${label} sends ${at} bytes instead of ${size}`);
    } catch (error) {
      const isLost = error instanceof Diagnostic && error.code === 'E-IO-003';
      vain = at - before >= fewestBytes ? 0 : vain + 1;
      // What cannot even be asked for is no connection that was lost.
      if (!isLost || (attempt === 1 && at === 0) || vain >= maxAttempts || attempt >= maxConnections) throw error;
      await new Promise((resolve) => setTimeout(resolve, vain * betweenAttemptsMs));
    }
  }
  const found = `sha256:${hash.digest('hex')}`;
  if (found !== digest) throw new Diagnostic('E-REG-002', `${label} sends bytes of ${found} for ${digest}`);
}

/** Hands out the pieces of a body, again where one was lost: its bytes are read once, and anew only to go back. */
export class BodyPieces {
  readonly #body: OutgoingBody;
  #chunks: AsyncIterator<Uint8Array> | null = null;
  #readTo = 0;
  #held: Buffer = Buffer.alloc(0);
  #last: { readonly at: number; readonly piece: Buffer } | null = null;

  constructor(body: OutgoingBody) {
    this.#body = body;
  }

  /** Up to `maxBytes` from a byte on. */
  async at(at: number, maxBytes: number): Promise<Buffer> {
    const last = this.#last;
    if (last !== null && at >= last.at && at < last.at + last.piece.length)
      return last.piece.subarray(at - last.at, at - last.at + maxBytes);
    if (this.#chunks === null || at < this.#readTo - this.#held.length) this.#begin();
    const piece = await this.#fill(at, maxBytes);
    this.#last = { at, piece };
    return piece;
  }

  #begin(): void {
    this.#chunks = iterated(this.#body)[Symbol.asyncIterator]();
    this.#readTo = 0;
    this.#held = Buffer.alloc(0);
  }

  async #fill(at: number, maxBytes: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    let wanted = maxBytes;
    while (wanted > 0) {
      const from = this.#readTo - this.#held.length;
      const useful = this.#held.subarray(Math.min(this.#held.length, Math.max(0, at - from)));
      const part = useful.subarray(0, wanted);
      if (part.length > 0) {
        taken.push(part);
        wanted -= part.length;
        at += part.length;
        continue;
      }
      const next = await this.#chunks?.next();
      if (next === undefined || next.done === true) break;
      this.#held = Buffer.from(next.value);
      this.#readTo += this.#held.length;
    }
    return Buffer.concat(taken);
  }
}

async function* iterated(body: OutgoingBody): AsyncGenerator<Uint8Array> {
  yield* body.chunks();
}
