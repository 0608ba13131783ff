/** Sends signed requests to one bucket, and sends them again when the service falters. */

import { randomInt } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { AwsV4Signer } from 'aws4fetch';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { parseErrorCode, isPassing, notAnswering, refused, type S3Refusal, unansweredReason } from './s3-answers.ts';
import {
  readText,
  S3Connections,
  UnreadableBody,
  usualLimits,
  type S3Body,
  type S3Limits,
  type SignedRequest,
} from './s3-exchange.ts';
import type { S3Settings } from './settings.ts';

interface S3Call {
  /** What is attempted, for a message that begins with `cannot`. */
  readonly attempt: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** The name of an object in the bucket; absent for the bucket itself. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
  /** The statuses that are an answer; every other is a refusal. */
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
  readonly #signer: typeof AwsV4Signer;
  readonly #now: () => Date;
  readonly #connections: S3Connections;
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  readonly limits: S3Limits;

  private constructor(settings: S3Settings, signer: typeof AwsV4Signer, { now, limits }: Required<S3ClientOptions>) {
    this.#settings = settings;
    this.#signer = signer;
    this.#now = now;
    this.limits = limits;
    this.#connections = new S3Connections(limits);
  }

  static async load(settings: S3Settings, { now, limits = usualLimits }: S3ClientOptions): Promise<S3Client> {
    const aws = await import('aws4fetch');
    return new S3Client(settings, aws.AwsV4Signer, { now, limits });
  }

  /** The whole answer, as text. */
  async ask(call: S3Call): Promise<S3Answer<string>> {
    return await this.#repeat(call, async (response) => await readText(response, largestText));
  }

  /** The head of an answer; what follows is for the caller to read, in its own time, and to destroy. */
  async open(call: S3Call): Promise<S3Answer<IncomingMessage>> {
    // From here on it may be the caller who is waited for.
    return await this.#repeat(call, async (response) => response.setTimeout(0));
  }

  close(): void {
    this.#connections.close();
  }

  async #repeat<Content>(
    call: S3Call,
    read: (response: IncomingMessage) => Promise<Content>,
  ): Promise<S3Answer<Content>> {
    const { attempts, firstPauseMs } = this.limits;
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt >= attempts;
      try {
        const outcome = await this.#once(call, read);
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
      await pause(pauseMs / 2 + randomInt(Math.max(1, pauseMs)));
    }
  }

  async #once<Content>(call: S3Call, read: (response: IncomingMessage) => Promise<Content>): Promise<Outcome<Content>> {
    const request = await this.#sign(call);
    return await this.#connections.exchange(request, async (response): Promise<Outcome<Content>> => {
      const { statusCode: status = 0, headers } = response;
      if (call.expected.includes(status)) {
        return { kind: 'answer', answer: { status, headers, content: await read(response) } };
      }
      const code = parseErrorCode(await readText(response, largestRefusal));
      return {
        kind: 'refusal',
        refusal: { status, code, aheadMs: this.#aheadMs(headers.date), region: regionOf(headers) },
      };
    });
  }

  async #sign({ method, name = '', query = {}, headers = {}, body }: S3Call): Promise<SignedRequest> {
    const { address, region, credentials } = this.#settings;
    const url = new URL(address);
    url.pathname += name.split('/').map(encodeURIComponent).join('/');
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const { sessionToken } = credentials;
    const signed = await new this.#signer({
      method,
      url: url.href,
      headers: { ...headers, ...bodyHeaders(body) },
      service: 's3',
      region,
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: credentials.secretAccessKey.reveal(),
      ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
      datetime: this.#now()
        .toISOString()
        .replaceAll(/[:-]|\.\d{3}/g, ''),
      cache: this.#signingKeys,
    }).sign();
    return { method, url: signed.url, headers: Object.fromEntries(signed.headers), body: body ?? null };
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

function bodyHeaders(body: S3Body | undefined): Record<string, string> {
  if (body === undefined) return { 'x-amz-content-sha256': emptySha256 };
  if (body.kind === 'file') return { 'content-length': String(body.bytes), 'x-amz-content-sha256': body.sha256 };
  const sha256 = sha256Hex(body.text);
  return { 'content-length': String(Buffer.byteLength(body.text)), 'x-amz-content-sha256': sha256 };
}

function regionOf(headers: IncomingHttpHeaders): string | null {
  const region = headers['x-amz-bucket-region'];
  return typeof region === 'string' && /^[0-9a-z-]{1,64}$/.test(region) ? region : null;
}
