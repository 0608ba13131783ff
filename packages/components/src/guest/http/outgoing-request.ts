/** Takes a request from a component: its head, and its body before and after the request is handed over. */

import { isMethod, isPathWithQuery, type RequestBodyStart } from '../../outbound/remote-messages.ts';
import { IoError, type WaitingRoom } from '../io.ts';
import { HostObject, Retained } from '../retained.ts';
import { OutputStream, raise, readySink } from '../streams.ts';
import type { FieldEntry, Fields } from './fields.ts';
import { failStream, type HttpExchange } from './http-exchange.ts';

/** The most bytes that are kept of a body that is written before its request is handed over. */
const earlyLimitBytes = 32 * 1024 * 1024;
const pieceOverhead = 256;

/** The body of a request. It is kept until the request is handed over; later pieces are passed on. */
class RequestBody {
  #early: Uint8Array[] = [];
  #earlyBytes = 0;
  readonly #retained = new Retained();
  #finished = false;
  #exchange: HttpExchange | null = null;

  /** Hands over what has been written. Later pieces go to the exchange that `connect` names. */
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

  /** Ends a body that is dropped before it is finished: it must not look whole to the server. */
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
    return new OutputStream(
      readySink((bytes) => this.#body.write(bytes)),
      this.#room,
    );
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

type Method = { readonly tag: string; readonly val?: string };
type Scheme = { readonly tag: 'HTTP' | 'HTTPS' } | { readonly tag: 'other'; readonly val: string };

const authorityShape = /^[^\s/?#@\\]+$/;
/** The longest path that a component can set; a longer one is refused at once. */
const maxPath = 64 * 1024 + 1;
const maxName = 1_024;

/** `wasi:http/types#outgoing-request` */
export class OutgoingRequest extends HostObject {
  readonly #headers: Fields;
  readonly #room: WaitingRoom;
  readonly requestBody: RequestBody = new RequestBody();
  #method: Method = { tag: 'get' };
  #scheme: Scheme | undefined;
  #authority: string | undefined;
  #pathWithQuery: string | undefined;
  #bodyTaken = false;

  constructor(headers: Fields, room: WaitingRoom) {
    super();
    this.#headers = headers;
    this.#room = room;
  }

  get hasBody(): boolean {
    return this.#bodyTaken;
  }

  body(): OutgoingBody {
    if (this.#bodyTaken) raise(undefined);
    this.#bodyTaken = true;
    return new OutgoingBody(this.requestBody, this.#room);
  }

  method(): Method {
    return this.#method;
  }

  setMethod(method: Method): void {
    if (method.tag === 'other' && !isMethod(method.val ?? '')) raise(undefined);
    this.#method = method;
  }

  pathWithQuery(): string | undefined {
    return this.#pathWithQuery;
  }

  setPathWithQuery(path: string | undefined): void {
    if (path !== undefined && (path.length > maxPath || (path !== '' && !isPathWithQuery(path)))) raise(undefined);
    this.holds(path?.length ?? 0);
    this.#pathWithQuery = path;
  }

  scheme(): Scheme | undefined {
    return this.#scheme;
  }

  setScheme(scheme: Scheme | undefined): void {
    if (scheme?.tag === 'other' && scheme.val.length > maxName) raise(undefined);
    this.#scheme = scheme;
  }

  authority(): string | undefined {
    return this.#authority;
  }

  setAuthority(authority: string | undefined): void {
    if (authority !== undefined && !(authority.length <= maxName && authorityShape.test(authority))) raise(undefined);
    this.#authority = authority;
  }

  headers(): Fields {
    return this.#headers.frozen();
  }

  entries(): FieldEntry[] {
    return this.#headers.entries();
  }

  /** A body that was taken has a handle of its own. */
  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#headers[Symbol.dispose]();
  }
}

/** `wasi:http/types#request-options`; durations are nanoseconds. */
export class RequestOptions extends HostObject {
  #connect: bigint | undefined;
  #firstByte: bigint | undefined;
  #betweenBytes: bigint | undefined;

  connectTimeout(): bigint | undefined {
    return this.#connect;
  }

  setConnectTimeout(duration: bigint | undefined): void {
    this.#connect = duration;
  }

  firstByteTimeout(): bigint | undefined {
    return this.#firstByte;
  }

  setFirstByteTimeout(duration: bigint | undefined): void {
    this.#firstByte = duration;
  }

  betweenBytesTimeout(): bigint | undefined {
    return this.#betweenBytes;
  }

  setBetweenBytesTimeout(duration: bigint | undefined): void {
    this.#betweenBytes = duration;
  }
}

/** Returns at least one, since a wait of no time is impossible; null when there is no limit. */
export function milliseconds(duration: bigint | undefined): number | null {
  const maxMs = 2n ** 31n - 1n;
  if (duration === undefined) return null;
  const ms = duration / 1_000_000n;
  return ms > maxMs ? Number(maxMs) : Math.max(1, Number(ms));
}
