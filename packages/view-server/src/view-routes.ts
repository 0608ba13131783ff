/** What the viewer's server answers to a page. */

import { createReadStream } from 'node:fs';

import { ClientError } from '@svc/client/client-error.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { isJsonMediaType, singleHeader } from '@svc/kit/http/hygiene.ts';
import { busy, HttpRefusal, kitRefusal } from '@svc/kit/http/refusal.ts';
import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead, Route } from '@svc/kit/http/route.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { parseResourcePath } from '@svc/protocol/resource-path.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import type { ViewedList } from '@svc/protocol/viewed-session.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { AskingSessions } from './asking-sessions.ts';
import { guarded, notThere, openAnswer, refusalOf } from './answers.ts';
import { passCall, type ViewingUser } from './capsule-relay.ts';
import { Comparisons } from './comparisons.ts';
import { EventRelay } from './event-relay.ts';
import { type Followed, followJournal, followTrace } from './follow.ts';
import { followRows } from './follow-rows.ts';
import { tellNow } from './live-relay.ts';
import { type BuiltPage, pagePolicy } from './page-document.ts';
import { filesOf, openViewedFile } from './session-files.ts';
import { SessionTexts } from './session-texts.ts';
import type { ViewedSessions } from './viewed-sessions.ts';
import { SessionLooks, viewedFacts, type ViewedSession, withReader } from './viewed-session.ts';

const maxCallBytes = 1024 * 1024;
const maxFileBytes = 16 * 1024 * 1024;
/** Limit for all texts that are read and not taken yet. */
const textsBytes = 64 * 1024 * 1024;
const maxStreams = 48;

export interface RoutesOptions {
  readonly user: ViewingUser;
  readonly sessions: ViewedSessions;
  readonly page: BuiltPage;
  readonly readOnly: boolean;
  /** How long a capsule that is gone is waited for. */
  readonly resumeMs: number;
  readonly onBug: (error: unknown) => void;
}

/** All routes (docs/viewer.md "What the page asks"). The page itself is there for everybody: it holds nothing. */
export function viewRoutes(options: RoutesOptions): readonly Route[] {
  const { page, sessions } = options;
  const answers = new SessionAnswers(options);
  const asking = new AskingSessions(options);
  return [
    { method: 'GET', path: '/', open: true, body: 'unread', handle: pageAnswer(page) },
    {
      method: 'GET',
      path: '/sessions',
      body: 'unread',
      handle: coded(async () => jsonReply(await listOf(sessions, asking))),
    },
    { method: 'GET', path: '/compare', body: 'unread', handle: coded((request) => answers.compare(request)) },
    { method: 'GET', path: '/s/', prefix: true, body: 'unread', handle: coded((request) => answers.get(request)) },
    {
      method: 'POST',
      path: '/s/',
      prefix: true,
      body: 'whole',
      maxBytes: maxCallBytes,
      handle: coded((request) => answers.call(request)),
    },
  ];
}

/** The list of sessions, with what only their capsules know of those that run. */
async function listOf(viewed: ViewedSessions, asking: AskingSessions): Promise<ViewedList> {
  const { rows, more } = await viewed.list();
  const running = rows.flatMap(({ status, session_id: id }) => (status === 'running' ? (viewed.find(id) ?? []) : []));
  const ids = await asking.among(running);
  const sessions: ViewedList['sessions'][number][] = [];
  for (const row of rows) sessions.push({ ...row, asks: ids.has(row.session_id) });
  return { sessions, more };
}

/** Packed for who takes it so: through a tunnel to another machine, it is a third of the time. */
function pageAnswer(page: BuiltPage): (request: RequestHead) => Reply {
  const [plain, coding] = [Buffer.from(page.html), { 'content-encoding': 'gzip' }];
  const headers = { 'content-security-policy': pagePolicy(page, 'served'), vary: 'accept-encoding' };
  const answer = { kind: 'bytes', status: 200, contentType: 'text/html; charset=utf-8', isShared: true } as const;
  return ({ headers: { 'accept-encoding': taken } }) =>
    guarded(
      takesGzip.test(singleHeader(taken) ?? '')
        ? { ...answer, bytes: page.packed, headers: { ...headers, ...coding } }
        : { ...answer, bytes: plain, headers },
    );
}

/** A list that has it, and not only to say that it is not taken. */
const takesGzip = /(?:^|,)[ \t]*gzip[ \t]*(?!;[ \t]*q=0(?:\.0*)?[ \t]*(?:,|$))(?:;|,|$)/i;

/** With what an operator could act on as a refusal with its code. */
function coded<Request extends RequestHead>(
  answer: (request: Request) => Reply | Promise<Reply>,
): (request: Request) => Promise<Reply> {
  return async (request) => {
    try {
      return guarded(await answer(request));
    } catch (error) {
      if (error instanceof Diagnostic) throw refusalOf(error, statusOf(error.code));
      throw error;
    }
  };
}

/** What each of them is to a client; anything else is wrong with what was asked for. */
const statuses: Readonly<Record<string, number>> = {
  'E-RUN-026': 410,
  'E-RUN-057': 502,
  'E-RUN-070': 404,
  'E-RUN-071': 404,
  'E-RUN-072': 403,
  'E-IO-001': 500,
  'E-IO-003': 502,
  'E-IO-004': 502,
};

function statusOf(code: string): number {
  return statuses[code] ?? 422;
}

/** Everything below `/s/<id>`. */
class SessionAnswers {
  readonly #options: RoutesOptions;
  readonly #looks = new SessionLooks();
  readonly #comparisons = new Comparisons();
  readonly #found = new SessionTexts();
  readonly #texts = new ByteBudget(textsBytes);
  #streams = 0;

  constructor(options: RoutesOptions) {
    this.#options = options;
  }

  async get({ path, query, headers }: RequestHead): Promise<Reply> {
    const { session, what, rest } = this.#asked(path);
    switch (rest === null ? what : `${what}/`) {
      case '':
        return jsonReply(await viewedFacts(session, { looks: this.#looks, readOnly: this.#options.readOnly }));
      case 'trace':
        return this.#follow(session.openTrace(), { session, query, follow: followTrace });
      case 'journal':
        return this.#follow(session.openJournal(), { session, query, follow: followJournal });
      case 'events': {
        const relay = await this.#relay(session, singleHeader(headers['last-event-id']));
        return this.#stream('text/event-stream', {
          make: async (body) => await relay.pass(body),
          end: () => relay.close(),
        });
      }
      case 'now': {
        const relay = await this.#relay(session, undefined);
        return this.#stream('application/x-ndjson', {
          make: async (body) => await tellNow(relay, body),
          end: () => relay.close(),
        });
      }
      case 'files':
        return jsonReply(await filesOf(session, this.#looks));
      case 'rows':
        return this.#follow(session.openTrace(), { session, query, follow: followRows });
      case 'changes':
        return this.#bounded(JSON.stringify(await this.#found.changes(session)));
      case 'find/':
        return jsonReply(await this.#found.find(session, rest ?? ''));
      case 'search/':
        return this.#bounded(JSON.stringify(await this.#found.search(session, decoded(rest ?? ''))));
      case 'detail/': {
        const detail = await this.#found.ofRow(session, rowOf(rest ?? ''));
        if (detail === null) throw notThere('The trace has no such line.');
        return this.#bounded(JSON.stringify(detail));
      }
      case 'result/':
        return this.#bounded(JSON.stringify(await this.#found.ofTask(session, decoded(rest ?? ''))));
      case 'body/':
        return this.#text(session, rest ?? '');
      case 'file/':
        return await this.#file(session, rest ?? '');
      default:
        throw notThere('Nothing is served at this path.');
    }
  }

  async call(request: HttpRequest): Promise<Reply> {
    const { session, what, rest } = this.#asked(request.path);
    if (what !== 'rpc' || rest !== null) throw notThere('Nothing is served at this path.');
    const { readOnly, user } = this.#options;
    if (readOnly) throw new HttpRefusal(403, 'read_only', 'This page may only look: svc view runs with --read-only.');
    if (!isJsonMediaType(request.headers['content-type'])) {
      throw new HttpRefusal(415, 'not_json', 'A call is sent as application/json.');
    }
    return await passCall(user, session, request);
  }

  async compare({ query }: RequestHead): Promise<Reply> {
    const asked = new URLSearchParams(query);
    const [a, b] = [this.#session(asked.get('a') ?? ''), this.#session(asked.get('b') ?? '')];
    return jsonReply(await this.#comparisons.of(a, b));
  }

  /** The session of a path, and what of it: `/s/<id>[/<what>[/<rest>]]`, each as sent. */
  #asked(path: string): { readonly session: ViewedSession; readonly what: string; readonly rest: string | null } {
    const [, id = '', what = '', rest] = /^\/s\/([^/]*)(?:\/([^/]*)(?:\/(.*))?)?$/.exec(path) ?? [];
    return { session: this.#session(id), what, rest: rest ?? null };
  }

  #session(id: string): ViewedSession {
    const session = this.#options.sessions.find(id);
    if (session === null) throw notThere('No such session is shown here.');
    return session;
  }

  #follow(
    file: LineFile | null,
    { session, query, follow }: { session: ViewedSession; query: string; follow: typeof followTrace },
  ): Reply {
    if (file === null)
      throw notThere('The session has no such record: it ended before it began, or the record was removed.');
    const from = fromOf(query);
    if (from === null) {
      file.close();
      throw new HttpRefusal(400, 'bad_from', '"from" is a whole number of bytes.');
    }
    const followed: Followed = { file, from, isLive: () => session.isLive() };
    return this.#stream('application/x-ndjson', {
      make: async (body) => await follow(followed, body),
      end: () => file.close(),
    });
  }

  async #relay(session: ViewedSession, lastEventId: string | undefined): Promise<EventRelay> {
    const { user, readOnly, resumeMs } = this.#options;
    return await EventRelay.open({ user, session, readOnly, resumeMs }, lastEventId);
  }

  /** `end` is called once, however it ends. */
  #stream(
    contentType: string,
    { make, end }: { readonly make: Parameters<typeof openAnswer>[0]['make']; readonly end: () => void },
  ): Reply {
    if (this.#streams >= maxStreams) {
      end();
      throw busy();
    }
    this.#streams += 1;
    const over = (): void => {
      this.#streams -= 1;
      end();
    };
    return openAnswer({
      contentType,
      make: async (body) => await make(body).finally(over),
      abandon: over,
      onBug: (error) => {
        // The connection is cut, and the page asks again.
        if (!(error instanceof Diagnostic || error instanceof ClientError)) this.#options.onBug(error);
      },
    });
  }

  #text(session: ViewedSession, sha256: string): Reply {
    if (!sha256Shape.test(sha256)) throw notThere('A text is named by its SHA-256.');
    const body = withReader(session, (reader) => reader.body(sha256));
    if (body === null || body.kind === 'damaged')
      throw notThere(`There is no such text: ${body?.why ?? 'no journal'}.`);
    if (body.kind === 'not kept') throw notThere('Of this text its hash and its size alone were kept.');
    const text = body.kind === 'text' ? body.text : `${body.head}\n… ${body.bytes} bytes in all …\n${body.tail}`;
    return this.#bounded(text, 'text/plain; charset=utf-8');
  }

  /** Texts that are read and not taken yet have a bound together. */
  #bounded(text: string, contentType = 'application/json'): Reply {
    const bytes = Buffer.from(text);
    if (!this.#texts.take(bytes.length)) throw busy();
    const onDone = (): void => this.#texts.giveBack(bytes.length);
    return { kind: 'bytes', status: 200, contentType, bytes, onDone };
  }

  async #file(session: ViewedSession, raw: string): Promise<Reply> {
    const path = parseResourcePath(raw);
    const file = path === undefined ? null : await openViewedFile(session, path, this.#looks);
    if (file === null) throw notThere('No such file is shown of this session.');
    const { descriptor, size } = file;
    const source = createReadStream('', { fd: descriptor, start: 0, end: Math.max(0, size - 1) });
    if (size <= maxFileBytes) {
      const headers = { 'content-disposition': 'attachment' };
      return { kind: 'readable', status: 200, contentType: 'text/plain; charset=utf-8', length: size, source, headers };
    }
    source.destroy();
    throw kitRefusal('body_too_large', 'The file has more than 16 MiB.');
  }
}

/** The number of a line, from 0. */
function rowOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw notThere('A line is named by its number.');
  return Number(text);
}

/** A part of a path as it was before it was written into one. */
function decoded(part: string): string {
  const text = decodePercent(part);
  if (text === null) throw notThere('Nothing is served at this path.');
  return text;
}

/** The byte that is asked from, 0 when absent; null for what is no number. */
function fromOf(query: string): number | null {
  const from = new URLSearchParams(query).get('from') ?? '0';
  return /^\d{1,15}$/.test(from) ? Number(from) : null;
}
