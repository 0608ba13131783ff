/** Takes the body of a request from a component, before and after the request is handed over. */

import type { RequestBodyStart } from '../../outbound/remote-messages.ts';
import { alwaysReady, IoError, type WaitingRoom } from '../io.ts';
import { HostObject, Retained } from '../retained.ts';
import { type ByteSink, OutputStream, raise, transferBytes } from '../streams.ts';
import type { Fields } from './fields.ts';
import { failStream, type HttpExchange } from './http-exchange.ts';

/** A body that is written before its request is handed over is kept up to this size. */
const earlyLimitBytes = 32 * 1024 * 1024;
const pieceOverhead = 256;

/** The body of a request: kept until the request is handed over, passed on from then. */
export class RequestBody {
  #early: Uint8Array[] = [];
  #earlyBytes = 0;
  readonly #retained = new Retained();
  #finished = false;
  #exchange: HttpExchange | null = null;

  /** Hands over what there is; what is written later goes to the exchange that `connect` names. */
  start(): RequestBodyStart {
    const bytes = Buffer.concat(this.#early);
    this.#forget();
    return { bytes, finished: this.#finished };
  }

  connect(exchange: HttpExchange): void {
    this.#exchange = exchange;
  }

  write(bytes: Uint8Array): void {
    if (this.#finished) raise({ tag: 'closed' });
    if (this.#exchange === null) return this.#keep(bytes);
    const answer = this.#exchange.write(bytes);
    if (answer.kind === 'failed') failStream(answer.error);
  }

  #keep(bytes: Uint8Array): void {
    this.#earlyBytes += bytes.length;
    if (this.#earlyBytes > earlyLimitBytes) {
      raise({
        tag: 'last-operation-failed',
        val: new IoError('the request has to be handed over before more is written'),
      });
    }
    this.#retained.add(pieceOverhead + bytes.length);
    this.#early.push(Uint8Array.from(bytes));
  }

  #forget(): void {
    this.#early = [];
    this.#retained.set(0);
  }

  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    const answer = this.#exchange?.finish();
    if (answer?.kind === 'failed') raise(answer.error);
  }

  /** A body that is let go unfinished must not look whole to the server. */
  abandon(): void {
    if (!this.#finished) this.#exchange?.close();
    this.#finished = true;
    this.#forget();
  }
}

/** `wasi:http/types#outgoing-body` */
export class OutgoingBody extends HostObject {
  readonly #body: RequestBody;
  readonly #room: WaitingRoom;
  #written = false;

  constructor(body: RequestBody, room: WaitingRoom) {
    super();
    this.#body = body;
    this.#room = room;
  }

  write(): OutputStream {
    if (this.#written) raise(undefined);
    this.#written = true;
    return new OutputStream(sinkOf(this.#body), this.#room);
  }

  /** Trailers are not sent. */
  static finish(body: OutgoingBody, trailers?: Fields): void {
    trailers?.[Symbol.dispose]();
    body.#dispose();
    body.#body.finish();
  }

  #dispose(): void {
    super[Symbol.dispose]();
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#body.abandon();
  }
}

function sinkOf(body: RequestBody): ByteSink {
  return {
    room: () => transferBytes,
    write: (bytes) => body.write(bytes),
    waitForRoom: () => {},
    flush: () => {},
    readiness: alwaysReady,
    close: () => {},
  };
}
