/** Which handler answers which request. */

import type { IncomingHttpHeaders } from 'node:http';

import type { HttpRefusal } from './refusal.ts';
import type { Reply } from './reply.ts';

/** A request as a handler sees it: its head, and never anything decoded or normalised. */
export interface RequestHead {
  readonly method: string;
  /** The target up to the first `?`, as sent. */
  readonly path: string;
  /** The target after the first `?`, as sent; empty without one. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Absent where no connection is behind the request, or there is a body to read. */
  readonly client?: WaitingClient;
}

/** The client of a request, for an answer that is long in the making. */
export interface WaitingClient {
  /** It has left: nobody waits for the answer. */
  readonly isGone: () => boolean;
  /** Resolves a second after it has ended its half of the connection: it may have left, and only a write shows that. */
  readonly ended: () => Promise<'ended'>;
}

/** A request with its whole body, which has ended well; empty without one. */
export interface HttpRequest extends RequestHead {
  readonly body: Buffer;
  /** Says that the body is needed no more, for a handler whose answer may be long in coming. It is harmless when repeated. */
  readonly release: () => void;
}

/** A request with its body as it arrives; see `readStreamed` for how it ends. */
export interface StreamedRequest extends RequestHead {
  readonly body: AsyncIterable<Buffer>;
}

/** Expected refusals are returned, or thrown as `HttpRefusal`; anything else thrown is a bug. */
export type Handler<Request extends RequestHead> = (request: Request) => Reply | Promise<Reply>;

interface RouteAddress {
  /** `GET` is asked for `HEAD` too, unless a route names it; `*` takes every method. */
  readonly method: string;
  /** Compared with the path as sent. */
  readonly path: string;
  /** Takes every path that begins with `path`. */
  readonly prefix?: boolean;
  /** Needs no bearer token. */
  readonly open?: boolean;
  /** Called for a request for this route that the server refused before it came to the handler. */
  readonly onRefused?: (path: string, refusal: HttpRefusal) => void;
}

export type Route = RouteAddress &
  (
    | { readonly body: 'whole'; readonly maxBytes: number; readonly handle: Handler<HttpRequest> }
    | { readonly body: 'streamed'; readonly maxBytes: number; readonly handle: Handler<StreamedRequest> }
    /** Answered at once; a body the client sends all the same is thrown away and the connection closed. */
    | { readonly body: 'unread'; readonly handle: Handler<RequestHead> }
  );

export type RouteMatch =
  | { readonly kind: 'route'; readonly route: Route }
  | { readonly kind: 'method-not-served'; readonly allow: string }
  | { readonly kind: 'none' };

const none: RouteMatch = { kind: 'none' };

/** The routes of one server: exact paths first, then prefixes, the longest first. */
export class RouteTable {
  readonly #exact = new Map<string, MethodTable>();
  readonly #prefixes: { readonly path: string; readonly methods: MethodTable }[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#methodsAt(route).add(route);
    this.#prefixes.sort((left, right) => right.path.length - left.path.length);
  }

  find(method: string, path: string): RouteMatch {
    const methods = this.#exact.get(path) ?? this.#prefixes.find((prefix) => path.startsWith(prefix.path))?.methods;
    return methods === undefined ? none : methods.find(method);
  }

  #methodsAt({ path, prefix = false }: Route): MethodTable {
    const known = prefix ? this.#prefixes.find((entry) => entry.path === path)?.methods : this.#exact.get(path);
    if (known !== undefined) return known;
    const methods = new MethodTable();
    if (prefix) this.#prefixes.push({ path, methods });
    else this.#exact.set(path, methods);
    return methods;
  }
}

class MethodTable {
  readonly #matches = new Map<string, RouteMatch>();

  add(route: Route): void {
    if (this.#matches.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    this.#matches.set(route.method, { kind: 'route', route });
  }

  find(method: string): RouteMatch {
    const asked = this.#matches.get(method) ?? this.#matches.get('*');
    if (asked !== undefined) return asked;
    const read = this.#matches.get('GET');
    if (method === 'HEAD' && read !== undefined) return read;
    const allowed = [...this.#matches.keys(), ...(read === undefined ? [] : ['HEAD'])];
    return { kind: 'method-not-served', allow: [...new Set(allowed)].join(', ') };
  }
}
