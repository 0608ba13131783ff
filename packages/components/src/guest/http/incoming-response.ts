/** Gives a component the response of a request, and its body as it arrives. */

import type { HttpErrorCode, HeadAnswer } from '../../outbound/remote-messages.ts';
import { alwaysReady, Pollable, type WaitingRoom } from '../io.ts';
import { HostObject } from '../retained.ts';
import { InputStream, raise } from '../streams.ts';
import { entryBytes, Fields } from './fields.ts';
import type { HttpExchange } from './http-exchange.ts';

type Result<Value, Fault> = { readonly tag: 'ok'; readonly val: Value } | { readonly tag: 'err'; readonly val: Fault };

type Arrived = Extract<HeadAnswer, { readonly kind: 'arrived' }>;

/** `wasi:http/types#future-incoming-response` */
export class FutureIncomingResponse extends HostObject {
  readonly #exchange: HttpExchange;
  readonly #room: WaitingRoom;
  #given = false;

  constructor(exchange: HttpExchange, room: WaitingRoom) {
    super();
    this.#exchange = exchange;
    this.#room = room;
  }

  subscribe(): Pollable {
    return new Pollable(this.#exchange.waitForHead(), this.#room);
  }

  get(): Result<Result<IncomingResponse, HttpErrorCode>, undefined> | undefined {
    if (this.#given) return { tag: 'err', val: undefined };
    const head = this.#exchange.head();
    if (head.kind === 'pending') return undefined;
    this.#given = true;
    if (head.kind === 'failed') {
      this.#exchange.close();
      return { tag: 'ok', val: { tag: 'err', val: head.error } };
    }
    return { tag: 'ok', val: { tag: 'ok', val: new IncomingResponse(head, this.#exchange, this.#room) } };
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    if (!this.#given) this.#exchange.close();
  }
}

/** `wasi:http/types#incoming-response` */
export class IncomingResponse extends HostObject {
  readonly #head: Arrived;
  readonly #exchange: HttpExchange;
  readonly #room: WaitingRoom;
  #consumed = false;

  constructor(head: Arrived, exchange: HttpExchange, room: WaitingRoom) {
    super();
    this.holds(head.headers.reduce((sum, [name, value]) => sum + entryBytes(name, value), 0));
    this.#head = head;
    this.#exchange = exchange;
    this.#room = room;
  }

  status(): number {
    return this.#head.status;
  }

  headers(): Fields {
    return Fields.received(this.#head.headers);
  }

  consume(): IncomingBody {
    if (this.#consumed) raise(undefined);
    this.#consumed = true;
    return new IncomingBody(this.#exchange, this.#room);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    if (!this.#consumed) this.#exchange.close();
  }
}

/** `wasi:http/types#incoming-body` */
export class IncomingBody extends HostObject {
  readonly #exchange: HttpExchange;
  readonly #room: WaitingRoom;
  #streamed = false;

  constructor(exchange: HttpExchange, room: WaitingRoom) {
    super();
    this.#exchange = exchange;
    this.#room = room;
  }

  stream(): InputStream {
    if (this.#streamed) raise(undefined);
    this.#streamed = true;
    return new InputStream(this.#exchange.body(), this.#room);
  }

  static finish(body: IncomingBody): FutureTrailers {
    body[Symbol.dispose]();
    return new FutureTrailers(body.#room);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#exchange.close();
  }
}

/** `wasi:http/types#future-trailers`: there never are any. */
export class FutureTrailers extends HostObject {
  readonly #room: WaitingRoom;
  #given = false;

  constructor(room: WaitingRoom) {
    super();
    this.#room = room;
  }

  subscribe(): Pollable {
    return new Pollable(alwaysReady, this.#room);
  }

  get(): Result<Result<undefined, HttpErrorCode>, undefined> {
    if (this.#given) return { tag: 'err', val: undefined };
    this.#given = true;
    return { tag: 'ok', val: { tag: 'ok', val: undefined } };
  }
}
