/** Takes a request from a component, part by part (`wasi:http/types#outgoing-request`). */

import type { WaitingRoom } from '../io.ts';
import { HostObject } from '../retained.ts';
import { raise } from '../streams.ts';
import type { FieldEntry, Fields } from './fields.ts';
import { OutgoingBody, RequestBody } from './outgoing-body.ts';

type Method = { readonly tag: string; readonly val?: string };
type Scheme = { readonly tag: 'HTTP' | 'HTTPS' } | { readonly tag: 'other'; readonly val: string };

const methodShape = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const authorityShape = /^[^\s/?#@\\]+$/;
/** As long as a path may be when it is sent; what is longer is refused by this. */
const longestPath = 64 * 1024 + 1;
const longestName = 1_024;
const pathShape = /^[/?][\x21-\x22\x24-\x7e]*$/;

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
    if (method.tag === 'other' && !methodShape.test(method.val ?? '')) raise(undefined);
    this.#method = method;
  }

  pathWithQuery(): string | undefined {
    return this.#pathWithQuery;
  }

  setPathWithQuery(path: string | undefined): void {
    if (path !== undefined && (path.length > longestPath || (path !== '' && !pathShape.test(path)))) raise(undefined);
    this.holds(path?.length ?? 0);
    this.#pathWithQuery = path;
  }

  scheme(): Scheme | undefined {
    return this.#scheme;
  }

  setScheme(scheme: Scheme | undefined): void {
    if (scheme?.tag === 'other' && scheme.val.length > longestName) raise(undefined);
    this.#scheme = scheme;
  }

  authority(): string | undefined {
    return this.#authority;
  }

  setAuthority(authority: string | undefined): void {
    if (authority !== undefined && !(authority.length <= longestName && authorityShape.test(authority)))
      raise(undefined);
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

/** At least one, since no time at all cannot be waited; null when there is no limit. */
export function milliseconds(duration: bigint | undefined): number | null {
  const longestMs = 2n ** 31n - 1n;
  if (duration === undefined) return null;
  const ms = duration / 1_000_000n;
  return ms > longestMs ? Number(longestMs) : Math.max(1, Number(ms));
}
