import { IncomingMessage } from 'node:http';

import { GatheredBytes } from '../wire/gathered-bytes.ts';
import { tooLarge } from './body.ts';
import type { HttpRefusal } from './refusal.ts';

const nothing = Buffer.alloc(0);

export type TakeBody = (body: Buffer | HttpRefusal) => void;

/**
 * A request whose body can be had whole without the events of a stream, which cost as much as the rest of a small request.
 * Without `readWhole` it is the stream that it was.
 */
export class KitRequest extends IncomingMessage {
  #take: TakeBody | null = null;
  /** Most bodies come in one piece. */
  #body: Buffer | GatheredBytes = nothing;
  #bytes = 0;
  #maxBytes = 0;

  /**
   * Hands over the body once it has ended well, or a refusal as soon as it exceeds `maxBytes`; nothing beyond the limit is kept.
   * Nothing is handed over when the body never ends well.
   */
  readWhole(maxBytes: number, take: TakeBody): void {
    this.#maxBytes = maxBytes;
    this.#take = take;
    // Of a request that had to wait, some or all of the body is in the stream already.
    if (this.readableLength > 0) this.#takeArrived();
    if (this.complete && this.#take !== null) this.#finish(take);
  }

  #takeArrived(): void {
    const arrived: unknown = this.read();
    if (arrived instanceof Buffer) this.push(arrived);
  }

  /** The parser's door into the stream: each piece of the body, and null once it has ended well. */
  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const take = this.#take;
    if (take === null) return super.push(chunk, encoding);
    if (chunk === null) {
      this.#finish(take);
      return false;
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#maxBytes) this.#keep(chunk);
    else this.#handOver(take, tooLarge(this.#maxBytes));
    return true;
  }

  #finish(take: TakeBody): void {
    this.#handOver(take, this.#body instanceof GatheredBytes ? this.#body.take() : this.#body);
  }

  #keep(chunk: Buffer): void {
    if (this.#body === nothing) {
      this.#body = chunk;
      return;
    }
    if (!(this.#body instanceof GatheredBytes)) {
      const gathered = new GatheredBytes();
      gathered.append(this.#body);
      this.#body = gathered;
    }
    this.#body.append(chunk);
  }

  /** The connection keeps its last request until the next one comes: the body must not stay with it. */
  #handOver(take: TakeBody, body: Buffer | HttpRefusal): void {
    this.#take = null;
    this.#body = nothing;
    take(body);
  }
}
