/** Serves the referee over HTTP: registers sessions, approves spawns, ends what was registered. */

import type { IncomingHttpHeaders } from 'node:http';

import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { Handler, HttpRequest, RequestHead, Route } from '@svc/kit/http/route.ts';
import type { BindOutcome } from '@svc/kit/http/listen.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import {
  approvalHeader,
  credentialHeader,
  encodeCredential,
  encodeGrant,
  encodeSessionReport,
  decodeDeregisterRequest,
  decodeRegisterRequest,
  decodeSpawnRequest,
  maxSessionId,
  type DeregisterRequest,
  type RegisterRequest,
  type SpawnRequest,
} from '@svc/protocol/referee-messages.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { decodePercent, decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { Referee, type RefereeOptions } from './referee.ts';
import { refusalReply, sessionNotFound, badRequest, type Refusal } from './refusals.ts';

interface RefereeServerOptions extends RefereeOptions {
  readonly onBug: (error: unknown) => void;
}

const statusPrefix = '/status/';

/** The five endpoints of the referee on 127.0.0.1 (D2 "Endpoints"). */
export class RefereeServer {
  readonly #server: HttpServer;
  readonly #referee: Referee;

  constructor({ onBug, ...options }: RefereeServerOptions) {
    this.#referee = new Referee(options);
    // Without Date, whose seconds would distinguish two identity refusals (D2 "Authentication" 4).
    this.#server = new HttpServer({
      routes: this.#routes(),
      token: null,
      sendDate: false,
      onBug,
      // One key with a sentence, also where the server itself refuses (D2 "Errors").
      renderRefusal: ({ message, status, headers }) => refusalReply({ status, sentence: message }, headers),
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
    // What does not decode is the id of no session.
    const report = this.#referee.status(decodePercent(path.slice(statusPrefix.length)) ?? '');
    return report === null ? refusalReply(sessionNotFound) : jsonReply(encodeSessionReport(report));
  }
}

function credentialOf(headers: IncomingHttpHeaders): string | undefined {
  return singleHeader(headers[credentialHeader]);
}

const nothingHere = refusalReply({ status: 404, sentence: 'nothing is served at this path' });

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
  const refused = refusalReply({ status: 405, sentence: `this path takes ${allow}` }, { allow });
  return { method: '*', ...at, body: 'unread', handle: () => refused };
}

/** More than any request needs; what a caller adds is ignored. */
const maxBodyBytes = 1024 * 1024;

interface BodyShape<Value> {
  readonly decode: (body: unknown) => Value | null;
  /** What the body must be, for the refusal. */
  readonly expected: string;
}

const spawnBody: BodyShape<SpawnRequest> = {
  decode: decodeSpawnRequest,
  expected: 'the body must be a JSON object with the strings name and version',
};

const registerBody: BodyShape<RegisterRequest> = {
  decode: decodeRegisterRequest,
  expected: `the body must be a JSON object with the strings session_id (1 to ${maxSessionId} characters), name and version`,
};

const deregisterBody: BodyShape<DeregisterRequest> = {
  decode: decodeDeregisterRequest,
  expected:
    'the body must be a JSON object whose outcome is complete or failed; child, where it is given, is a session id',
};

type ParsedBody<Value> = { readonly kind: 'body'; readonly value: Value } | Refusal;

function parseBody<Value>(body: Uint8Array, { decode, expected }: BodyShape<Value>): ParsedBody<Value> {
  const text = decodeStrictUtf8(body);
  // A byte order mark is kept, and then is no JSON.
  const json = text === null ? ({ kind: 'not-json' } as const) : parseJsonText(text);
  if (json.kind !== 'json') {
    return badRequest(`the body ${json.kind === 'too-deep' ? 'nests too deep' : 'is not valid JSON'}: ${expected}`);
  }
  const value = decode(json.value);
  return value === null ? badRequest(expected) : { kind: 'body', value };
}
