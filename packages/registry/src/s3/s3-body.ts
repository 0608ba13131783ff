/** Passes an archive on from an S3 service and compares it with its hash on the way. */

import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { networkReason } from '@svc/kit/net/network-reason.ts';
import { notAnswering, unansweredReason } from './s3-answers.ts';

interface ExpectedBody {
  /** What is being tried, for a message that begins with `cannot`. */
  readonly attempt: string;
  readonly bytes: number;
  /** The hash of a whole archive; null for a part, whose hash nobody knows. */
  readonly sha256: string | null;
  /** Without a byte, while one is waited for. */
  readonly idleMs: number;
  readonly onFault: (fault: Diagnostic) => void;
}

/**
 * An archive on its way from the service. Its last piece is held back until all of it has been compared with what the record says: bytes
 * that differ end in an error and never in a clean end. Destroying it ends the transfer.
 */
export class S3Body extends Readable {
  readonly #response: IncomingMessage;
  readonly #expected: ExpectedBody;
  readonly #hash: Hash = createHash('sha256');
  #bytes = 0;
  #held: Buffer | null = null;
  #waiting: NodeJS.Timeout | null = null;

  constructor(response: IncomingMessage, expected: ExpectedBody) {
    super({ highWaterMark: 256 * 1024 });
    this.#response = response;
    this.#expected = expected;
    response.pause();
    response.on('data', (chunk: Buffer) => this.#take(chunk));
    response.on('end', () => this.#finish());
    response.on('error', (error) => this.#fail(error));
    response.on('close', () => {
      if (!response.complete) this.#cut(networkReason({ code: 'ECONNRESET' }));
    });
  }

  override _read(): void {
    if (this.#response.readableEnded) return;
    const { idleMs } = this.#expected;
    this.#waiting ??= setTimeout(() => this.#cut(`nothing came for ${idleMs / 1000} s`), idleMs);
    this.#response.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stopWaiting();
    this.#response.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#stopWaiting();
    this.#bytes += chunk.length;
    if (this.#bytes > this.#expected.bytes) {
      this.#differs();
      return;
    }
    if (this.#expected.sha256 !== null) this.#hash.update(chunk);
    const before = this.#held;
    this.#held = chunk;
    if (before === null || this.push(before)) this._read();
    else this.#response.pause();
  }

  #finish(): void {
    if (this.destroyed) return;
    this.#stopWaiting();
    const { bytes, sha256 } = this.#expected;
    if (this.#bytes !== bytes || (sha256 !== null && this.#hash.digest('hex') !== sha256)) {
      this.#differs();
      return;
    }
    if (this.#held !== null) this.push(this.#held);
    this.push(null);
  }

  #differs(): void {
    const { attempt, bytes } = this.#expected;
    const reason =
      this.#bytes === bytes
        ? 'the bytes are not those that were published'
        : `it has not the ${bytes} bytes that were published`;
    this.#end(new Diagnostic('E-REG-023', `cannot ${attempt}: ${reason}`));
  }

  #fail(error: unknown): void {
    const reason = unansweredReason(error);
    if (reason === null) this.destroy(error instanceof Error ? error : new Error(String(error)));
    else this.#cut(reason);
  }

  #cut(reason: string): void {
    this.#end(notAnswering(this.#expected.attempt, reason));
  }

  #end(fault: Diagnostic): void {
    if (this.destroyed || this.readableEnded) return;
    this.#expected.onFault(fault);
    this.destroy(fault);
  }

  #stopWaiting(): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#waiting = null;
  }
}
