/** Exchanges single requests and answers with an S3 service. */

import { createReadStream } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { finished } from 'node:stream';

import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { Connections, responseOf } from '@svc/kit/net/connections.ts';
import { Unanswered } from './s3-answers.ts';

/** A body whose hash is known before it is sent. */
export type S3Body =
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

export const usualLimits: S3Limits = {
  answerMs: 15_000,
  uploadMs: 15 * 60_000,
  idleMs: 30_000,
  attempts: 4,
  firstPauseMs: 200,
};

/** The file that was to be sent cannot be read; the system's error is its cause. */
export class UnreadableBody extends Error {}

export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: S3Body | null;
}

/** Connections to one service. They are reused, and none keeps the process from ending. */
export class S3Connections {
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
