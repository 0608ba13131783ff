/** A server that answers as that of `svc view` does, with sessions that a test made up. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { grantedIn } from '@svc/svc/cli/view/recorded-grants.ts';
import type { ViewedComparison, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { manifest } from './made-session.ts';
import { documentOf } from './page-document.ts';
import { answersOf, stepsIn } from './record-answers.ts';

export interface StandInSession {
  readonly id: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** What `GET …/trace` answers; a function gets the answer, and writes and ends it. */
  readonly trace: string | Buffer | ((response: ServerResponse) => void);
  readonly journal?: string | Buffer;
  readonly bodies?: ReadonlyMap<string, string>;
  readonly files?: ReadonlyMap<string, string | Buffer>;
  /** Answers with lines of what the capsule does. */
  readonly now?: (response: ServerResponse) => void;
  /** What the capsule answers to a request. */
  readonly rpc?: (request: {
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  }) => Readonly<Record<string, unknown>>;
}

export class StandInServer {
  readonly token: string = randomBytes(32).toString('base64url');
  /** Requests that came, but for those of the page itself. */
  readonly asked: string[] = [];
  /** Requests that are still told that there is too much to do. */
  refuses = 0;
  readonly #server: Server;
  readonly #sessions: readonly StandInSession[];
  readonly #compare: ViewedComparison | null;

  constructor(sessions: readonly StandInSession[], compare: ViewedComparison | null = null) {
    this.#sessions = sessions;
    this.#compare = compare;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The address of a session, or of the list. */
  url(session?: string, more = ''): string {
    return `${this.origin}/#token=${this.token}${session === undefined ? '' : `&session=${encodeURIComponent(session)}`}${more}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.origin);
    if (pathname === '/') {
      const { html, policy } = documentOf({ kind: 'served' });
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-store',
      });
      response.end(html);
      return;
    }
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      refuse(response, 401, 'The token is not the one of this server.');
      return;
    }
    if (this.refuses > 0) {
      this.refuses -= 1;
      refuse(response, 503, 'There is too much at once.');
      return;
    }
    this.asked.push(`${request.method} ${pathname}`);
    if (pathname === '/sessions') {
      json(response, { sessions: this.#sessions.map(rowOf) });
      return;
    }
    if (pathname === '/compare') {
      if (this.#compare === null) refuse(response, 404, 'One of the sessions kept no journal.');
      else json(response, this.#compare);
      return;
    }
    const [, id = '', what = '', rest = ''] = /^\/s\/([^/]+)(?:\/([a-z]+)(?:\/(.*))?)?$/.exec(pathname) ?? [];
    const session = this.#sessions.find((each) => each.id === decodeURIComponent(id));
    if (session === undefined) refuse(response, 404, 'There is no such session.');
    else await serveSession(session, what, decodeURIComponent(rest), { request, response });
  }
}

function rowOf({ id, row }: StandInSession): unknown {
  return {
    session_id: id,
    capsule: 'fix-the-parser',
    version: '1.2.0',
    started_at_ms: 1_795_350_260_734,
    status: 'ok',
    tasks: 3,
    tokens: 48_210,
    task: 'The parser drops the last header when the file ends without a line feed.',
    steps: 40,
    journal: null,
    journal_removed_at_ms: null,
    ...row,
  };
}

/** As the server tells it; of a session with a journal, with the lines of its manifest. */
function grantedOf({ trace, journal }: StandInSession): ViewedFacts['granted'] {
  const [first = ''] = typeof trace === 'string' ? trace.split('\n', 1) : [];
  return first.startsWith('{"event_type":"session_start"')
    ? grantedIn(first, journal === undefined ? '' : manifest)
    : null;
}

async function serveSession(
  session: StandInSession,
  what: string,
  rest: string,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const from = Number(new URL(request.url ?? '/', 'http://x').searchParams.get('from') ?? 0);
  switch (what) {
    case '':
      json(response, {
        id: session.id,
        live: session.now !== undefined,
        readOnly: session.rpc === undefined,
        capture: session.journal === undefined ? 'none' : 'content',
        has: { trace: true, journal: session.journal !== undefined, files: session.files !== undefined },
        notes: [],
        notStopped: [
          'Code that was never a file can run: a script by its interpreter, instructions that a program writes into its memory.',
          'What can be read here can be sent to any destination of network allow.',
          'A bug of the kernel can undo all of this.',
        ],
        granted: grantedOf(session),
        ...session.facts,
      });
      return;
    case 'trace':
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      if (typeof session.trace === 'function') session.trace(response);
      else response.end(Buffer.from(session.trace).subarray(from));
      return;
    case 'row':
    case 'result': {
      const answer = (await answersOfSession(session)).get(`${what}/${rest}`);
      if (answer === undefined) refuse(response, 404, 'There is no such line.');
      else json(response, answer);
      return;
    }
    case 'steps':
      json(response, await stepsIn(session.journal));
      return;
    case 'files':
      json(response, {
        files: [...(session.files ?? [])].map(([path, content]) => ({ path, bytes: Buffer.byteLength(content) })),
        truncated: false,
      });
      return;
    case 'file': {
      const content = session.files?.get(rest);
      if (content === undefined) refuse(response, 404, 'There is no such file.');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end(content);
      return;
    }
    case 'now':
      if (session.now === undefined) refuse(response, 410, 'The session has ended.');
      else session.now(response);
      return;
    case 'rpc': {
      let body = '';
      for await (const piece of request) body += String(piece);
      const asked = JSON.parse(body) as { id: number; method: string; params: Record<string, unknown> };
      json(response, { jsonrpc: '2.0', id: asked.id, ...session.rpc?.(asked) });
      return;
    }
    default:
      refuse(response, 404, 'There is nothing here.');
  }
}

const answers = new WeakMap<StandInSession, ReturnType<typeof answersOf>>();

async function answersOfSession(session: StandInSession): ReturnType<typeof answersOf> {
  const { trace, journal, bodies } = session;
  const known = answers.get(session) ?? answersOf({ trace: typeof trace === 'function' ? '' : trace, journal, bodies });
  answers.set(session, known);
  return await known;
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message } }));
}
