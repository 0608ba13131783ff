/** A request whose body is received within bounds, at less cost than through the events of a stream. */

import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GatheredBytes } from '../gathered-bytes.ts';
import type { ByteBudget } from './byte-budget.ts';
import { busy, HttpRefusal, kitRefusal } from './refusal.ts';

const nothing = Buffer.alloc(0);

/** Free for each body, beside the budget: as much lies in the buffers of a connection anyway. */
const freeBytes = 64 * 1024;

type TakeBody = (body: Buffer | HttpRefusal) => void;

interface WholeBody {
  readonly maxBytes: number;
  /** For all bodies that are held at once, from their first bytes until `release`. */
  readonly budget: ByteBudget;
  /** Whose share of the budget it takes; null for those who have none of their own. Asked once something is counted. */
  readonly holder: () => string | null;
  /** For all of it to arrive; null where the server bounds the request by itself. */
  readonly maxMs: number | null;
  /** Called when the first of it is taken: from then on it is held, however the request ends. */
  readonly onCounted: () => void;
  readonly take: TakeBody;
}

/**
 * A request that gives its body whole without the events of a stream, which cost as much as the rest of a small request.
 * Without `readWhole` it is the stream that it was.
 */
export interface KitRequest extends IncomingMessage {
  /**
   * Hands over the body once it has ended well, or a refusal as soon as it exceeds `maxBytes`, `maxMs` or the budget; nothing beyond the limit is kept.
   * Nothing is handed over when the body never ends well. The caller lets go of it then.
   */
  readWhole(whole: WholeBody): void;
  /** The body is held by nobody any more. Harmless when repeated. */
  release(): void;
}

export type KitRequestClass = typeof IncomingMessage & (new (socket: Socket) => KitRequest);

/** The class of such requests, for one server. Made when it is needed: a program without a server loads no HTTP of Node. */
export function kitRequestClass(): KitRequestClass {
  class WholeRequest extends IncomingMessage implements KitRequest {
    #whole: WholeBody | null = null;
    /** Most bodies come in one piece. */
    #body: Buffer | GatheredBytes = nothing;
    #bytes = 0;
    /** Where what was taken goes back to, and whose share it is of; null while nothing was. */
    #taken: { readonly budget: ByteBudget; readonly holder: string | null } | null = null;
    #timer: NodeJS.Timeout | undefined;

    readWhole(whole: WholeBody): void {
      this.#whole = whole;
      const { maxMs } = whole;
      if (maxMs !== null) this.#timer = setTimeout(() => this.#handOver(whole, tooSlow(maxMs)), maxMs).unref();
      // If a request had to wait, some or all of the body is in the stream already.
      if (this.readableLength > 0) this.#takeArrived();
      if (this.complete && this.#whole !== null) this.#finish(whole);
    }

    release(): void {
      this.#taken?.budget.giveBack(this.#bytes - freeBytes, this.#taken.holder);
      this.#taken = null;
    }

    #takeArrived(): void {
      // Newer versions of node give one piece for each call.
      while (this.readableLength > 0) {
        const arrived: unknown = this.read();
        if (!(arrived instanceof Buffer)) return;
        // What comes after a refusal is dropped.
        if (this.#whole !== null) this.push(arrived);
      }
    }

    /** The parser's door into the stream: each piece of the body, and null once it has ended well. */
    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      const whole = this.#whole;
      if (whole === null) return super.push(chunk, encoding);
      if (chunk === null) {
        this.#finish(whole);
        return false;
      }
      if (this.#bytes + chunk.length > whole.maxBytes) this.#handOver(whole, tooLarge(whole.maxBytes));
      else if (this.#mayHold(chunk.length, whole)) this.#keep(chunk);
      else this.#handOver(whole, busy());
      return true;
    }

    #mayHold(more: number, { budget, holder, onCounted }: WholeBody): boolean {
      const bytes = this.#bytes + more;
      const counted = bytes - Math.max(freeBytes, this.#bytes);
      if (counted > 0) {
        const taken = this.#taken ?? { budget, holder: holder() };
        if (!budget.take(counted, taken.holder)) return false;
        if (this.#taken === null) onCounted();
        this.#taken = taken;
      }
      this.#bytes = bytes;
      return true;
    }

    #finish(whole: WholeBody): void {
      this.#handOver(whole, this.#body instanceof GatheredBytes ? this.#body.take() : this.#body);
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
    #handOver({ take }: WholeBody, body: Buffer | HttpRefusal): void {
      clearTimeout(this.#timer);
      this.#whole = null;
      this.#body = nothing;
      take(body);
    }
  }
  const Unasked = unaskedClass();
  // Node makes one for each head that it has parsed.
  const made = function (socket: Socket): IncomingMessage {
    return socket.destroyed ? new Unasked(socket) : new WholeRequest(socket);
  };
  return made as unknown as KitRequestClass;
}

/**
 * What was read behind the request that had its connection cut. Node parses all that it has read, up to 64 KiB of requests, and has no way to be
 * stopped. It hands on no request that asks for another protocol, so this one says that it does; up to Node 24 nothing behind it is parsed then.
 */
function unaskedClass(): typeof IncomingMessage {
  return class Unasked extends IncomingMessage {
    get upgrade(): boolean {
      return true;
    }

    set upgrade(_told: boolean) {
      // The parser says that the client asks for none.
    }

    override push(): boolean {
      return true;
    }
  };
}

/** The client left, or its body was malformed: the connection is gone and there is nobody to answer. */
export class BodyAborted extends Error {
  constructor() {
    super('the request body did not end well');
    this.name = 'BodyAborted';
  }
}

/** The refusal of a body that is announced to exceed `maxBytes`. One of unknown length is measured as it is read. */
export function announcedTooLarge(request: IncomingMessage, maxBytes: number): HttpRefusal | undefined {
  // The parser has checked that the header holds digits alone.
  const announced = Number(request.headers['content-length'] ?? 0);
  return announced > maxBytes ? tooLarge(maxBytes) : undefined;
}

/**
 * The body as it arrives. Throws the refusal once it exceeds `maxBytes`, and `BodyAborted` when it does not end well: act on it only
 * after the last chunk. Leaving early leaves the rest unread.
 */
export async function* readStreamed(
  request: IncomingMessage,
  maxBytes: number,
  onFirstRead: () => void,
): AsyncGenerator<Buffer> {
  onFirstRead();
  let bytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof HttpRefusal ? error : new BodyAborted();
  }
  if (!request.complete) throw new BodyAborted();
}

function tooSlow(maxMs: number): HttpRefusal {
  return kitRefusal('body_too_slow', `The request body did not arrive within ${maxMs / 1000} seconds.`);
}

function tooLarge(maxBytes: number): HttpRefusal {
  return kitRefusal('body_too_large', `The request body exceeds ${maxBytes} bytes.`);
}
