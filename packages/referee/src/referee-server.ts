/** The HTTP door of the referee. */

import type { IncomingHttpHeaders } from 'node:http';

import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { Handler, HttpRequest, RequestHead, Route } from '@svc/kit/http/route.ts';
import { HttpServer, type BindOutcome } from '@svc/kit/http/server.ts';
import { singleHeader } from '@svc/kit/http/headers.ts';
import {
  approvalHeader,
  credentialHeader,
  encodeCredential,
  encodeGrant,
  encodeSessionReport,
} from '@svc/protocol/referee-messages.ts';
import { encodeRefusal } from '@svc/protocol/refusal.ts';
import { Referee, type RefereeOptions } from './referee.ts';
import { refusalReply, sessionNotFound } from './refusals.ts';
import { deregisterBody, maxBodyBytes, parseBody, registerBody, spawnBody } from './request-body.ts';

export interface RefereeServerOptions extends RefereeOptions {
  readonly onBug: (error: unknown) => void;
}

const statusPrefix = '/status/';

/** The five endpoints of the referee on 127.0.0.1 (D2 "Endpoints"). */
export class RefereeServer {
  readonly #server: HttpServer;
  readonly #referee: Referee;

  constructor({ onBug, ...options }: RefereeServerOptions) {
    this.#referee = new Referee(options);
    // Without Date, whose seconds would tell two identity refusals apart (D2 "Authentication" 4).
    this.#server = new HttpServer({
      routes: this.#routes(),
      token: null,
      sendDate: false,
      onBug,
      // One key with a sentence, also where the server itself refuses (D2 "Errors").
      renderRefusal: ({ message, status, headers }) =>
        jsonReply(encodeRefusal({ error: message, message: '' }), status, headers),
    });
  }

  /** Binds loopback and nothing else; port 0 lets the system choose. */
  open(port: number): Promise<BindOutcome> {
    return this.#server.bind({ address: '127.0.0.1', port });
  }

  /** Takes nothing new and lets running answers end for `graceMs`. */
  close(graceMs: number): Promise<void> {
    return this.#server.close(graceMs);
  }

  #routes(): Route[] {
    return [
      ...read({ path: '/health' }, () => jsonReply({})),
      ...read({ path: statusPrefix, prefix: true }, (head) => this.#status(head)),
      ...posted('/spawn', (request) => this.#spawn(request)),
      ...posted('/register', (request) => this.#register(request)),
      ...posted('/deregister', (request) => this.#deregister(request)),
      { method: '*', path: '/', prefix: true, body: 'unread', handle: () => nothingHere },
    ];
  }

  async #spawn({ headers, body }: HttpRequest): Promise<Reply> {
    const parsed = parseBody(body, spawnBody);
    if (parsed.kind === 'refused') return refusalReply(parsed);
    const spawned = await this.#referee.spawn({ credential: credentialOf(headers), ...parsed.value });
    return spawned.kind === 'refused' ? refusalReply(spawned) : jsonReply(encodeGrant(spawned.grant));
  }

  async #register({ headers, body }: HttpRequest): Promise<Reply> {
    const parsed = parseBody(body, registerBody);
    if (parsed.kind === 'refused') return refusalReply(parsed);
    const approval = singleHeader(headers[approvalHeader]);
    const registered = await this.#referee.register({ approval, ...parsed.value });
    if (registered.kind === 'refused') return refusalReply(registered);
    return jsonReply(encodeCredential(registered.credential));
  }

  #deregister({ headers, body }: HttpRequest): Reply {
    const parsed = parseBody(body, deregisterBody);
    if (parsed.kind === 'refused') return refusalReply(parsed);
    const { outcome, child } = parsed.value;
    const ended = this.#referee.deregister({ credential: credentialOf(headers), outcome, child });
    return ended.kind === 'refused' ? refusalReply(ended) : jsonReply({});
  }

  #status({ path }: RequestHead): Reply {
    const report = this.#referee.status(sessionIdOf(path));
    return report === null ? refusalReply(sessionNotFound) : jsonReply(encodeSessionReport(report));
  }
}

function credentialOf(headers: IncomingHttpHeaders): string | undefined {
  return singleHeader(headers[credentialHeader]);
}

/** What does not decode is the id of no session. */
function sessionIdOf(path: string): string {
  try {
    return decodeURIComponent(path.slice(statusPrefix.length));
  } catch (error) {
    if (error instanceof URIError) return '';
    throw error;
  }
}

const nothingHere = jsonReply({ error: 'nothing is served at this path' }, 404);

function read(at: { readonly path: string; readonly prefix?: boolean }, handle: Handler<RequestHead>): Route[] {
  return [
    { method: 'GET', ...at, body: 'unread', handle },
    { method: 'HEAD', ...at, body: 'unread', handle },
    methodRefusal(at, 'GET, HEAD'),
  ];
}

function posted(path: string, handle: Handler<HttpRequest>): Route[] {
  return [{ method: 'POST', path, body: 'whole', maxBytes: maxBodyBytes, handle }, methodRefusal({ path }, 'POST')];
}

function methodRefusal(at: { readonly path: string; readonly prefix?: boolean }, allow: string): Route {
  const refused = jsonReply({ error: `this path takes ${allow}` }, 405, { allow });
  return { method: '*', ...at, body: 'unread', handle: () => refused };
}
