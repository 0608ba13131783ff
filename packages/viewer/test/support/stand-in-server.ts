/** A server that answers as that of `svc view` does, with sessions that a test made up. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { OpenBody } from '@svc/kit/http/open-body.ts';
import { followRows } from '@svc/view-server/follow-rows.ts';
import { grantedIn } from '@svc/view-server/recorded-grants.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { RowBlocks } from '@svc/view-server/rows/row-blocks.ts';
import type { ViewedComparison, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { manifest } from './made-session.ts';
import { documentOf } from './page-document.ts';
import { RecordedAnswers } from './record-answers.ts';

export interface StandInSession {
  readonly id: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** The trace whose rows `GET …/rows` answers. A function gets a writer, writes the trace and ends it. */
  readonly trace: string | Buffer | ((trace: TraceWriter) => void);
  /** A file that holds the trace in its place. */
  readonly file?: string;
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
  /** Requests that came, except for those of the page itself. */
  readonly asked: string[] = [];
  /** Requests that the server still refuses because there is too much to do. */
  refuses = 0;
  readonly #server: Server;
  readonly #sessions: readonly StandInSession[];
  readonly #compare: ViewedComparison | null;
  readonly #more: number;

  constructor(sessions: readonly StandInSession[], compare: ViewedComparison | null = null, more = 0) {
    this.#sessions = sessions;
    this.#compare = compare;
    this.#more = more;
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
    for (const session of this.#sessions) {
      known.get(session)?.recorded.close();
      known.delete(session);
    }
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.origin);
    response.setHeader('cache-control', 'no-store');
    if (pathname === '/') {
      const { html, policy } = documentOf({ kind: 'served' });
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
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
      json(response, { sessions: this.#sessions.map(rowOf), more: this.#more });
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
    asks: false,
    folder: null,
    model: 'large-2',
    duration_ms: 34_000,
    tasks: 3,
    tokens: 48_210,
    task: 'The parser drops the last header when the file ends without a line feed.',
    steps: 40,
    journal: null,
    journal_removed_at_ms: null,
    ...row,
  };
}

/** As the server sends it; of a session with a journal, with the lines of its manifest. */
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
    case 'rows': {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      if (session.file !== undefined) {
        await rowsOfFile(session.file, from, response);
        return;
      }
      const rows = new TraceWriter(session, from, response);
      if (typeof session.trace === 'function') session.trace(rows);
      else rows.end(session.trace.toString());
      return;
    }
    case 'detail':
    case 'result':
    case 'find':
    case 'search':
    case 'changes': {
      const answer = await answersOf(session).at(`${what}/${rest}`);
      if (answer === undefined) refuse(response, 404, 'There is no such line.');
      else json(response, answer);
      return;
    }
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

async function rowsOfFile(path: string, from: number, response: ServerResponse): Promise<void> {
  const file = new LineFile(openSync(path, 'r'));
  try {
    await followRows({ file, from, isLive: () => false }, new OpenBody(response));
    response.end();
  } finally {
    file.close();
  }
}

/** What was written of traces that come bit by bit. */
const written = new WeakMap<StandInSession, string>();

interface Answers {
  readonly trace: string | Buffer;
  readonly recorded: RecordedAnswers;
}

const known = new Map<StandInSession, Answers>();

/** Made anew where more of the trace was written. */
function answersOf(session: StandInSession): RecordedAnswers {
  const { journal, bodies } = session;
  const trace = typeof session.trace === 'function' ? (written.get(session) ?? '') : session.trace;
  const before = known.get(session);
  if (before?.trace === trace) return before.recorded;
  before?.recorded.close();
  const recorded = new RecordedAnswers({ trace, journal, bodies });
  known.set(session, { trace, recorded });
  return recorded;
}

/** Between two looks at a trace that grows. */
const lookMs = 40;

/** Takes the text of a trace, and answers with rows as the server does. */
export class TraceWriter {
  readonly #session: StandInSession;
  readonly #from: number;
  readonly #response: ServerResponse;
  readonly #blocks = new RowBlocks();
  #rest = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(session: StandInSession, from: number, response: ServerResponse) {
    written.set(session, '');
    this.#session = session;
    this.#from = from;
    this.#response = response;
  }

  write(text: string): void {
    written.set(this.#session, `${written.get(this.#session) ?? ''}${text}`);
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      this.#blocks.add(line);
      if (this.#blocks.count === this.#from) this.#blocks.take();
    }
    this.#timer ??= setTimeout(() => this.#tell(), lookMs);
  }

  end(text = ''): void {
    this.write(text);
    this.#tell();
    this.#response.end();
  }

  /** The connection breaks off behind what was written. */
  cut(): void {
    this.#tell();
    setTimeout(() => this.#response.destroy(), 20);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const block = this.#blocks.take();
    if (block !== null) this.#response.write(`${JSON.stringify(block)}\n`);
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message } }));
}
