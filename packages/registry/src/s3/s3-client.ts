/** Sends signed requests to one bucket of an S3 service, and sends them again when the service falters. */

import { createReadStream } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ClientRequest } from 'node:http';
import { finished } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { signatureOf } from '@svc/kit/keys/sigv4.ts';
import { Connections, responseOf } from '@svc/kit/net/connections.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { randomBelow } from '@svc/kit/clock.ts';
import {
  parseErrorCode,
  isPassing,
  notAnswering,
  refused,
  type S3Refusal,
  unansweredReason,
  Unanswered,
} from './s3-answers.ts';
import type { S3Settings } from '../settings.ts';

/** A body whose hash is known before it is sent. */
type S3Body =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string; readonly bytes: number; readonly sha256: string };

export interface S3Limits {
  /** A whole exchange without a file: until its answer is read, or until the head of a stream. */
  readonly answerMs: number;
  /** A whole exchange that sends a file. */
  readonly uploadMs: number;
  /** Without a byte either way while one is waited for. */
  readonly idleMs: number;
  readonly attempts: number;
  /** Before the second attempt; it doubles from then on. */
  readonly firstPauseMs: number;
}

const usualLimits: S3Limits = {
  answerMs: 15_000,
  uploadMs: 15 * 60_000,
  idleMs: 30_000,
  attempts: 4,
  firstPauseMs: 200,
};

/** The file that was to be sent cannot be read; the system's error is its cause. */
class UnreadableBody extends Error {}

interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: S3Body | null;
}

/** Connections to one service. They are reused, and none keeps the process from ending. */
class S3Connections {
  readonly #limits: S3Limits;
  readonly #connections = new Connections();

  constructor(limits: S3Limits) {
    this.#limits = limits;
  }

  /** Sends one request; `read` is given the response and decides how much of it belongs to the exchange. Throws what cut it. */
  async exchange<Read>(request: SignedRequest, read: (response: IncomingMessage) => Promise<Read>): Promise<Read> {
    const { answerMs, uploadMs, idleMs } = this.#limits;
    const { url, body } = request;
    const sent = this.#connections.send(url, { method: request.method, headers: request.headers });
    const limitMs = body?.kind === 'file' ? uploadMs : answerMs;
    let cut: Unanswered | null = null;
    const giveUp = (reason: string): void => {
      cut = new Unanswered(reason);
      sent.destroy(cut);
    };
    const deadline = setTimeout(() => giveUp(`no answer within ${limitMs / 1000} s`), limitMs);
    sent.setTimeout(idleMs, () => giveUp(`nothing came for ${idleMs / 1000} s`));
    try {
      return await read(await responseTo(sent, body));
    } catch (error) {
      // To a reader, a response that is given up looks like a cut connection.
      throw cut ?? error;
    } finally {
      clearTimeout(deadline);
      // A refusal may come before all of a body is sent: the rest would be for nothing.
      if (!sent.writableFinished) sent.destroy();
    }
  }

  close(): void {
    this.#connections.close();
  }
}

async function responseTo(sent: ClientRequest, body: S3Body | null): Promise<IncomingMessage> {
  const response = responseOf(sent);
  if (body?.kind === 'file') {
    const file = createReadStream(body.path);
    file.on('error', (cause) => sent.destroy(new UnreadableBody('the file cannot be read', { cause })));
    finished(sent, () => file.destroy());
    file.pipe(sent);
  } else {
    sent.end(body?.text);
  }
  return await response;
}

/** A body as text; `Unanswered` when it is larger than anything the service has reason to send. */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const bytes = await readUpTo(response, maxBytes);
  if (bytes === undefined) throw new Unanswered(`the answer is longer than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}

interface S3Call {
  /** What is attempted, for a message that begins with `cannot`. */
  readonly attempt: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** The name of an object in the bucket; absent for the bucket itself. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
  /** The statuses that are an answer; every other is a refusal. 404 is one where the service says that it has no such object. */
  readonly expected: readonly number[];
}

interface S3Answer<Content> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly content: Content;
}

type Outcome<Content> =
  | { readonly kind: 'answer'; readonly answer: S3Answer<Content> }
  | { readonly kind: 'refusal'; readonly refusal: S3Refusal };

const emptySha256 = sha256Hex('');
const largestText = 8 * 1024 * 1024;
const largestRefusal = 64 * 1024;

/**
 * Signed requests to one bucket. Every call is one that may be repeated: it is, a few times and with growing pauses, when the service does
 * not answer or asks for patience. `E-REG-025` when that did not help, `E-REG-024` when the service refuses.
 */
export class S3Client {
  readonly #settings: S3Settings;
  readonly #now: () => Date;
  readonly #connections: S3Connections;
  readonly limits: S3Limits;

  constructor(settings: S3Settings, { now, limits = usualLimits }: S3ClientOptions) {
    this.#settings = settings;
    this.#now = now;
    this.limits = limits;
    this.#connections = new S3Connections(limits);
  }

  /** The whole answer, as text; empty where there is no such object. */
  async ask(call: S3Call): Promise<S3Answer<string>> {
    return await this.#repeat(call, '', async (response) => await readText(response, largestText));
  }

  /** The head of an answer; what follows is for the caller to read, in its own time, and to destroy. Returns null where there is no such object. */
  async open(call: S3Call): Promise<S3Answer<IncomingMessage | null>> {
    // From here on it may be the caller who is waited for.
    return await this.#repeat(call, null, async (response) => response.setTimeout(0));
  }

  close(): void {
    this.#connections.close();
  }

  async #repeat<Content>(
    call: S3Call,
    absent: Content,
    read: (response: IncomingMessage) => Promise<Content>,
  ): Promise<S3Answer<Content>> {
    const { attempts, firstPauseMs } = this.limits;
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt >= attempts;
      try {
        const outcome = await this.#once(call, absent, read);
        if (outcome.kind === 'answer') return outcome.answer;
        const { refusal } = outcome;
        if (!isPassing(refusal)) throw refused(call.attempt, refusal);
        if (last)
          throw notAnswering(call.attempt, `the service answered ${refusal.status} ${refusal.code ?? ''}`.trimEnd());
      } catch (error) {
        if (error instanceof UnreadableBody) throw ioFault(error.cause, `cannot ${call.attempt}`);
        const reason = unansweredReason(error);
        if (reason === null) throw error;
        if (last) throw notAnswering(call.attempt, reason, error);
      }
      const pauseMs = firstPauseMs * 2 ** (attempt - 1);
      // Servers that were turned away together do not come back together.
      await pause(pauseMs / 2 + randomBelow(systemClock, Math.max(1, pauseMs)));
    }
  }

  async #once<Content>(
    call: S3Call,
    absent: Content,
    read: (response: IncomingMessage) => Promise<Content>,
  ): Promise<Outcome<Content>> {
    const request = this.#sign(call);
    return await this.#connections.exchange(request, async (response): Promise<Outcome<Content>> => {
      const { statusCode: status = 0, headers } = response;
      const isExpected = call.expected.includes(status);
      if (isExpected && status !== 404) {
        return { kind: 'answer', answer: { status, headers, content: await read(response) } };
      }
      const code = parseErrorCode(await readText(response, largestRefusal));
      // A proxy, or a service without the bucket, says 404 of objects that are there.
      if (isExpected && code === 'NoSuchKey') return { kind: 'answer', answer: { status, headers, content: absent } };
      return {
        kind: 'refusal',
        refusal: { status, code, aheadMs: this.#aheadMs(headers.date), region: regionOf(headers) },
      };
    });
  }

  #sign({ method, name = '', query = {}, headers = {}, body }: S3Call): SignedRequest {
    const { address, region, credentials } = this.#settings;
    const url = new URL(address);
    url.pathname += name.split('/').map(encodeURIComponent).join('/');
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const shown = { ...headers, ...bodyHeaders(body) };
    const sent = {
      method,
      target: `${url.pathname}${url.search}`,
      headers: Object.entries({ host: url.host, ...shown }),
    };
    const { secretAccessKey: secret, ...key } = credentials;
    const signing = { payload: shown['x-amz-content-sha256'], nowMs: this.#now().getTime() };
    const added = signatureOf({ ...key, secret, region, service: 's3' }, sent, signing);
    return { method, url, headers: { ...shown, ...Object.fromEntries(added) }, body: body ?? null };
  }

  #aheadMs(date: string | undefined): number | null {
    const theirsMs = Date.parse(date ?? '');
    return Number.isNaN(theirsMs) ? null : this.#now().getTime() - theirsMs;
  }
}

export interface S3ClientOptions {
  readonly now: () => Date;
  readonly limits?: S3Limits;
}

function bodyHeaders(
  body: S3Body | undefined,
): Readonly<Record<string, string>> & { readonly 'x-amz-content-sha256': string } {
  if (body === undefined) return { 'x-amz-content-sha256': emptySha256 };
  if (body.kind === 'file') return { 'content-length': String(body.bytes), 'x-amz-content-sha256': body.sha256 };
  const sha256 = sha256Hex(body.text);
  return { 'content-length': String(Buffer.byteLength(body.text)), 'x-amz-content-sha256': sha256 };
}

function regionOf(headers: IncomingHttpHeaders): string | null {
  const region = headers['x-amz-bucket-region'];
  return typeof region === 'string' && /^[0-9a-z-]{1,64}$/.test(region) ? region : null;
}
