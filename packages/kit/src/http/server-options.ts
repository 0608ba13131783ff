/** The options of an HTTP server, and what it reports. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Secret } from '../diagnostics/secret.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { HttpRefusal } from './refusal.ts';
import type { Reply } from './reply.ts';
import type { RequestHead, Route } from './route.ts';

export interface HttpServerOptions {
  readonly routes: readonly Route[];
  /** Asked of every request that is not for an open route, unknown paths included; null asks for none. */
  readonly token: Secret | null;
  /** Decides in the place of `token`, by the headers that the handler is given too. */
  readonly admits?: (headers: RequestHead['headers']) => boolean | Promise<boolean>;
  /** Receives anything a handler threw that is no refusal; the client got `500`. */
  readonly onBug: (error: unknown) => void;
  /** Whether responses carry `Date`; true when absent. */
  readonly sendDate?: boolean;
  /** For the whole request to arrive; 30 s when absent. With 0 a body that is streamed may take its time: who reads one bounds it. */
  readonly requestTimeoutMs?: number;
  /** For a body that is taken whole to arrive, where `requestTimeoutMs` is 0; 30 s when absent. */
  readonly wholeBodyMs?: number;
  /**
   * Answers to every name on a loopback address too, as behind a proxy, and to pages of every origin; only where each route that shows or
   * does anything asks for a token, or where `admit` looks at both.
   */
  readonly anyHost?: boolean;
  /** Asked of every request once its form is known to be sound, before its token and its body are looked at; what it gives is the answer. */
  readonly admit?: (request: IncomingMessage) => HttpRefusal | undefined;
  /** Called for each request that was refused for the token that it shows, with its `Authorization`; not for one without a token. */
  readonly onWrongToken?: (authorization: string) => void;
  /** A client that takes nothing of a long answer for this long loses its connection; 60 s when absent. */
  readonly stalledMs?: number;
  /** How many connections there may be at once; half as many as the process may have files open when absent. */
  readonly maxConnections?: number;
  /** What answers above 64 KiB may hold, where handlers count some of them too; one of its own when absent. */
  readonly answers?: ByteBudget;
  /** By the headers that the handler is given, who has a share of `answers` and of the room for bodies; null for a client that has none, as all have when absent. */
  readonly holderOf?: (headers: RequestHead['headers']) => string | null;
  /** Called for each connection before anything comes on it. */
  readonly onConnection?: (connection: Socket) => void;
  /** The answer of a refusal, the server's own included; `{ "error": code, "message": text }` when absent. */
  readonly renderRefusal?: (refusal: HttpRefusal) => Reply;
  /** Called for every request that came as far as a handler or a refusal, once its answer is written or its connection gone; `headers` as handlers see them. */
  readonly onAnswered?: (answered: Answered, headers: IncomingHttpHeaders) => void;
}

/** How a request ended. */
export interface Answered {
  readonly method: string;
  /** As sent, query included. */
  readonly target: string;
  /** Is null when the client was gone before there was an answer. */
  readonly status: number | null;
  /** Written to the connection for it, the head included. */
  readonly sentBytes: number;
  readonly ms: number;
}
