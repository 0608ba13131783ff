/** Sessions of clients that keep to revisions of before 2026: without one, neither an answer nor a cancel would find the call that it is for. */

import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';

import type { Clock } from '@svc/kit/clock.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { Principal } from '../callers/principal.ts';
import { type ClientServer, createClientServer, type ServedCapsule } from './capsule-server.ts';

/** Limits for all clients, and for one that has a token of its own: it must not keep out the others. */
const maxSessions = 256;
const maxOfToken = 64;
const idleMs = 30 * 60 * 1000;

type Place = Pick<ClientSession, 'principal'>;

interface ClientSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly client: ClientServer;
  /** Whose token it began with: another token of the same name is another client. */
  readonly principal: Principal;
  /** On the monotonic clock. */
  usedMs: number;
  /** Answers that are being sent. */
  streams: number;
}

/** What came of a request. `opened` is called when its answer is a stream, and gives what is to be called at its end. */
interface Answered {
  readonly response: Response;
  readonly opened: () => () => void;
}

/**
 * At most 256: a new one replaces one that was not used for 30 minutes, or else the least recently used. A client with a token of its own has
 * at most 64, and replaces one of its own.
 */
export class ClientSessions {
  readonly #capsule: ServedCapsule;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'randomBytes'>;
  readonly #sessions = new Map<string, ClientSession>();
  /** The places of clients that are about to have one more session. */
  readonly #places = new Set<Place>();

  constructor(capsule: ServedCapsule, clock: Pick<Clock, 'monotonicMs' | 'randomBytes'>) {
    this.#capsule = capsule;
    this.#clock = clock;
  }

  /** `message` is null for a request without a body. Throws the refusal 429 where every session is in use. */
  async handle(request: Request, message: JsonObject | null, principal: Principal): Promise<Answered> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) {
      if (message?.['method'] === 'initialize') return await this.#begin(request, message, principal);
      return notServed(400, -32_000, 'Bad Request: Mcp-Session-Id header is required');
    }
    const session = this.#sessions.get(id);
    if (session?.principal === principal) return await this.#handOn(session, request, message);
    // Its token was changed: what it calls would be done, and no answer would be for it.
    if (session?.principal.name === principal.name) await closed(this.#takeUnused((unused) => unused === session));
    // The client begins anew then.
    return notServed(404, -32_001, 'Session not found');
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ transport }) => transport.close()));
  }

  get size(): number {
    return this.#sessions.size;
  }

  async #begin(request: Request, message: JsonObject, principal: Principal): Promise<Answered> {
    const place = { principal };
    try {
      return await this.#beginAt(place, request, message);
    } finally {
      this.#places.delete(place);
    }
  }

  /** The place is given up once the session is there. */
  async #beginAt(place: Place, request: Request, message: JsonObject): Promise<Answered> {
    await this.#reserve(place);
    const { principal } = place;
    const { sdk } = this.#capsule;
    const client = createClientServer(this.#capsule, () => principal);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => Buffer.from(this.#clock.randomBytes(16)).toString('hex'),
      onsessioninitialized: (id) => {
        this.#places.delete(place);
        this.#sessions.set(id, session);
      },
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const session = { transport, client, principal, usedMs: this.#clock.monotonicMs(), streams: 0 };
    await client.server.connect(transport);
    return await this.#handOn(session, request, message);
  }

  async #handOn(session: ClientSession, request: Request, parsedBody: JsonObject | null): Promise<Answered> {
    session.usedMs = this.#clock.monotonicMs();
    const response = await session.transport.handleRequest(request, parsedBody === null ? {} : { parsedBody });
    const opened = (): (() => void) => {
      session.streams += 1;
      return () => {
        session.streams -= 1;
        session.usedMs = this.#clock.monotonicMs();
      };
    };
    return { response, opened };
  }

  /** The place is taken before anything is waited for, so that those who ask at the same time find it taken. */
  async #reserve(place: Place): Promise<void> {
    const unused: ClientSession[] = [];
    try {
      for (const session of this.#roomFor(place)) unused.push(session);
      this.#places.add(place);
    } finally {
      await closed(unused);
    }
  }

  /** The sessions that make room, which are not known any more. Throws the refusal 429 where that is not enough. */
  *#roomFor({ principal: { name, seesAll } }: Place): Generator<ClientSession> {
    const before = this.#clock.monotonicMs() - idleMs;
    yield* this.#takeUnused(({ usedMs }) => usedMs <= before);
    const isTheirs = ({ principal }: Place): boolean => principal.name === name;
    const all = (): Place[] => [...this.#sessions.values(), ...this.#places];
    const theirs = (): number => all().filter(isTheirs).length;
    if (!seesAll) yield* this.#takeUnused((session) => isTheirs(session) && theirs() >= maxOfToken);
    if (!seesAll && theirs() >= maxOfToken) throw full(`${maxOfToken} sessions of this client`);
    yield* this.#takeUnused(() => all().length >= maxSessions);
    if (all().length >= maxSessions) throw full(`${maxSessions} sessions`);
  }

  /** Takes the sessions that nobody uses and that must go, the one unused for longest first. It asks about each when its turn comes. */
  *#takeUnused(isToGo: (session: ClientSession) => boolean): Generator<ClientSession> {
    const unused = [...this.#sessions].filter(([, { streams, client }]) => streams === 0 && client.calls() === 0);
    unused.sort(([, left], [, right]) => left.usedMs - right.usedMs);
    for (const [id, session] of unused) {
      if (!isToGo(session)) continue;
      this.#sessions.delete(id);
      yield session;
    }
  }
}

async function closed(sessions: Iterable<ClientSession>): Promise<void> {
  for (const { transport } of sessions) await transport.close();
}

function full(what: string): HttpRefusal {
  const message = `There are ${what}, all of them in use; end one and ask again.`;
  return new HttpRefusal(429, 'too_many_sessions', message, { 'retry-after': '5' });
}

function notServed(status: number, code: number, message: string): Answered {
  const response = Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
  return { response, opened: () => () => {} };
}
