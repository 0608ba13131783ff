import { request, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';

import { errorCode } from '../diagnostics/system-reason.ts';
import { readUpTo } from '../files/read-up-to.ts';
import { responseOf } from './response-of.ts';

export interface JsonPost {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type PostOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Undefined when the body is no JSON. */
      readonly body: unknown;
    }
  /** No whole answer came. `code` is the system's error code, `reason` a clause for a person. */
  | { readonly kind: 'failed'; readonly code: string | null; readonly reason: string };

const mostAnswerBytes = 16 * 1024 * 1024;

/** Posts JSON on a connection of its own and reads the whole answer. Follows no redirect. Never rejects but with the reason of `signal`. */
export async function postJson(post: JsonPost): Promise<PostOutcome> {
  const timeout = AbortSignal.timeout(post.timeoutMs);
  const signal = post.signal === undefined ? timeout : AbortSignal.any([post.signal, timeout]);
  try {
    const response = await send(post, signal);
    return { kind: 'answered', status: response.statusCode ?? 0, body: parsed(await readText(response)) };
  } catch (error) {
    post.signal?.throwIfAborted();
    if (timeout.aborted) return { kind: 'failed', code: null, reason: `no answer within ${post.timeoutMs / 1000} s` };
    if (!(error instanceof Error)) throw error;
    const code = errorCode(error) ?? null;
    return { kind: 'failed', code, reason: reasonOf(error, code) };
  }
}

function send({ url, headers, body }: JsonPost, signal: AbortSignal): Promise<IncomingMessage> {
  const bytes = Buffer.from(body);
  const open = url.protocol === 'https:' ? secureRequest : request;
  const outgoing = open(url, {
    method: 'POST',
    agent: false,
    signal,
    headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
  });
  const response = responseOf(outgoing);
  outgoing.end(bytes);
  return response;
}

async function readText(response: IncomingMessage): Promise<string> {
  const bytes = await readUpTo(response, mostAnswerBytes);
  if (bytes === undefined) throw new Error('the answer is larger than 16 MiB');
  return bytes.toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: Error, code: string | null): string {
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ECONNRESET') return 'the connection was closed';
  return error.message === '' ? (code ?? error.name) : error.message;
}
