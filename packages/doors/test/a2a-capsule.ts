import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { createParser } from 'eventsource-parser';
import { afterEach } from 'vitest';

import { emptyReply, type Reply } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import { answerBudget } from '@svc/kit/http/byte-budget.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { agentCard } from '@svc/protocol/agent-card.ts';
import type { DoorName } from '@svc/artifacts/manifest/door-names.ts';
import type { TokenCallers } from '../src/callers/callers.ts';
import { capsuleRoutes } from '../src/capsule-listener.ts';
import type { DoorFacts, DoorOutside } from '../src/core/door-core.ts';
import { shareOf } from '../src/callers/principal.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { SessionFixture, type FixtureOptions } from '../../../test/support/session-fixture.ts';

// Answers are looked into at many places, and each test says what it expects of them.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = Record<string, any>;

export interface A2aOptions extends Partial<FixtureOptions> {
  readonly serve?: readonly DoorName[];
  readonly token?: string;
  /** In the place of the token, whose holder they know. */
  readonly callers?: TokenCallers;
  readonly facts?: Partial<DoorFacts>;
  /** What everything below `/resources/` is answered. */
  readonly resources?: (request: RequestHead) => Reply;
}

/** Hooks that reopen a task at its first end, and accept the next. */
export function reopenOnce(): NonNullable<FixtureOptions['hooks']> {
  let isFirst = true;
  return {
    mayReopen: true,
    taskEnded: async () => {
      const end = isFirst ? ({ kind: 'reopen', feedback: 'Again.' } as const) : ({ kind: 'accepted' } as const);
      isFirst = false;
      return end;
    },
  };
}

/** What a door does around its session, for tests to look at. */
export class FakeOutside implements DoorOutside {
  readonly traced: TraceEvent[] = [];
  readonly inputs = new Map<string, string>();
  /** What `exports.files` is said to hold. */
  files: readonly string[] = [];
  spans: RequestSpans | null = null;
  takesInput = true;
  readonly #ends: (() => Promise<void>)[] = [];

  record(event: TraceEvent): void {
    this.traced.push(event);
  }

  onClose(close: () => Promise<void>): void {
    this.#ends.push(close);
  }

  requests(): RequestSpans | null {
    return this.spans;
  }

  saveInput(name: string, bytes: Uint8Array): boolean {
    if (this.takesInput) this.inputs.set(name, Buffer.from(bytes).toString());
    return this.takesInput;
  }

  filesSince(): readonly string[] {
    return this.files;
  }

  /** The end of the session, as the doors hear of it. */
  async end(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
  }
}

/** The door of a session whose tasks run, with a driver and a clock that a test has in hand. */
export class A2aCapsule {
  readonly fixture: SessionFixture;
  readonly port: number;
  readonly bugs: unknown[];
  readonly outside: FakeOutside;
  readonly #server: HttpServer;
  readonly #token: string | undefined;
  readonly #sockets: Socket[] = [];
  readonly #aborts: AbortController[] = [];

  private constructor(
    fixture: SessionFixture,
    token: string | undefined,
    listening: { server: HttpServer; port: number; bugs: unknown[]; outside: FakeOutside },
  ) {
    this.outside = listening.outside;
    this.fixture = fixture;
    this.#token = token;
    this.#server = listening.server;
    this.port = listening.port;
    this.bugs = listening.bugs;
  }

  static async open(options: A2aOptions = {}): Promise<A2aCapsule> {
    const acceptance = { afterTask: 'sleep', queueDepth: 10, ...options.acceptance } as const;
    const fixture = new SessionFixture({ turns: [], ...options, acceptance });
    const { serve = ['a2a'], token, callers, facts, resources } = options;
    const outside = new FakeOutside();
    const door = {
      session: fixture.session,
      principal: token === undefined ? 'local' : 'operator',
      ...(callers === undefined ? {} : { callers }),
      card: agentCard({
        name: 'demo',
        version: '1.2.3',
        url: 'localhost:1',
        sessionId: fixture.session.id,
        tools: [],
        shellAllow: [],
        networkAllow: [],
        taskAcceptance: 'queue',
        exports: { files: resources !== undefined, peer_files: false },
      }),
      conversationMode: 'stateless' as const,
      containment: 'sealed',
      redact: (text: string) => text,
      delegation: { open: () => null },
      residue: () => [],
      resources: { answer: resources ?? (() => emptyReply(404)), refused: () => {}, counted: () => {} },
      facts: async () => ({
        publicUrl: 'http://localhost:1',
        description: 'Writes.',
        asksForToken: callers?.asksForToken ?? token !== undefined,
        skills: [],
        outside,
        ...facts,
      }),
    };
    const bugs: unknown[] = [];
    const answers = answerBudget();
    const server = new HttpServer({
      routes: capsuleRoutes(Promise.resolve(door), { serve, answers }),
      answers,
      token: token === undefined ? null : new Secret(token),
      ...(callers === undefined
        ? {}
        : {
            admits: (headers) => callers.admits(headers),
            holderOf: (headers) => shareOf(callers.principalOf({ headers })),
          }),
      onBug: (bug) => bugs.push(bug),
    });
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error('no port');
    return new A2aCapsule(fixture, token, { server, port: bound.port, bugs, outside });
  }

  /** Runs the tasks that come. */
  run(): this {
    void this.fixture.session.run();
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async post(body: string | Uint8Array, headers: Record<string, string> = {}, path = '/a2a'): Promise<Response> {
    return await fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...this.#authorization, ...headers },
      body,
    });
  }

  /** A request of the HTTP+JSON binding; a body that is no text is sent as JSON. */
  async http(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/a2a+json' };
    return await fetch(`${this.url}/a2a${path}`, {
      method,
      headers: { 'a2a-version': '1.0', ...type, ...this.#authorization, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  /** The whole answer of a call. */
  async answer(method: string, params?: unknown, headers: Record<string, string> = {}): Promise<Json> {
    const response = await this.post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), headers);
    return (await response.json()) as Json;
  }

  /** The result of a call; throws what it was refused with. */
  async result(method: string, params?: unknown): Promise<Json> {
    const answer = await this.answer(method, params);
    if (answer['result'] === undefined) throw new Error(JSON.stringify(answer));
    return answer['result'] as Json;
  }

  /** The code that a call is refused with. */
  async code(method: string, params?: unknown): Promise<number | undefined> {
    return ((await this.answer(method, params))['error'] as { code: number } | undefined)?.code;
  }

  /** A stream that is being served: its first event has come. */
  async stream(method: string, params: unknown, id: number | string = 1): Promise<EventReader> {
    const abort = new AbortController();
    this.#aborts.push(abort);
    const response = await fetch(`${this.url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...this.#authorization },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      signal: abort.signal,
    });
    const reader = new EventReader(response, id);
    await reader.until((events) => events.length > 0);
    return reader;
  }

  /** A connection that reads nothing of what it asked for. */
  async deaf(method: string, params: unknown): Promise<Socket> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const socket = connect({ port: this.port, host: '127.0.0.1' });
    this.#sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    socket.on('error', () => {});
    socket.write(
      `POST /a2a HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    return socket;
  }

  get #authorization(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const abort of this.#aborts) abort.abort();
    await this.#server.close(0);
    if (this.bugs.length > 0) throw new Error('a handler failed', { cause: this.bugs[0] });
  }
}

/** What one event stream has brought so far. */
export class EventReader {
  readonly response: Response;
  readonly events: Json[] = [];
  /** The bytes of the stream as text. */
  text = '';
  /** Settles when the stream has ended, well or not. */
  readonly ended: Promise<void>;
  #isOver = false;
  #watchers: (() => void)[] = [];

  constructor(response: Response, id: number | string) {
    this.response = response;
    const parser = createParser({
      onEvent: ({ data }) => {
        const { id: answered, result, error } = JSON.parse(data) as Json;
        if (answered !== id) throw new Error(`an event of another call: ${data}`);
        this.events.push((result ?? error) as Json);
      },
    });
    this.ended = this.#read(parser);
  }

  async #read(parser: ReturnType<typeof createParser>): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.response.body ?? []) {
        const text = decoder.decode(chunk as Uint8Array, { stream: true });
        this.text += text;
        parser.feed(text);
        this.#tell();
      }
    } catch {
      // The connection was cut, by the capsule or at the end of the test.
    } finally {
      this.#isOver = true;
      this.#tell();
    }
  }

  #tell(): void {
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  async until(holds: (events: readonly Json[]) => boolean): Promise<readonly Json[]> {
    while (!holds(this.events)) {
      if (this.#isOver) throw new Error(`the stream ended with ${JSON.stringify(this.events)}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
    return this.events;
  }

  /** All of it, once it has ended. */
  async whole(): Promise<readonly Json[]> {
    await this.ended;
    return this.events;
  }

  /** In short, for expectations: `task WORKING`, `status COMPLETED`, `response =rain`, `response +drop`, `response !rain drop`. */
  get lines(): string[] {
    return this.events.map(lineOf);
  }
}

export function lineOf({ task, statusUpdate, artifactUpdate }: Json): string {
  if (task !== undefined) return `task ${task.status.state.slice(11)}`;
  if (statusUpdate !== undefined) return `status ${statusUpdate.status.state.slice(11)}`;
  const { artifact, append, lastChunk } = artifactUpdate;
  return `${artifact.artifactId} ${append ? '+' : lastChunk ? '!' : '='}${artifact.parts.map((part: Json) => part['text']).join('')}`;
}

export function userMessage(text: string, more: Json = {}): Json {
  made += 1;
  return { message: { messageId: `m${made}`, role: 'ROLE_USER', parts: [{ text }], ...more } };
}

let made = 0;

/** An opener of capsules, which are closed after the test; a bug in a handler fails it. */
export function useA2aCapsules(): (options?: A2aOptions) => Promise<A2aCapsule> {
  const open: A2aCapsule[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((capsule) => capsule.close()));
  });
  return async (options = {}) => {
    const capsule = await A2aCapsule.open(options);
    open.push(capsule);
    return capsule;
  };
}
