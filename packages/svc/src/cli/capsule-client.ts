import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { errorCode, isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { decodeJsonRpcAnswer, encodeJsonRpcRequest } from '@svc/protocol/json-rpc.ts';
import { responseOf } from '@svc/kit/net/response-of.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { type Callee, refusedCall, unexpectedAnswer, unreachable } from './capsule-faults.ts';

interface CapsuleRequest extends Callee {
  /** For the whole exchange; without it a request waits for ever. */
  readonly timeoutMs?: number;
}

export interface CapsuleCall extends CapsuleRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Sent as a bearer token when the capsule requires one (`SVC_LISTENER_TOKEN`). */
  readonly token: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];

/** What listens there may never stop answering. */
const largestAnswerBytes = 4 * 1024 * 1024;

type Wait = (ms: number) => Promise<unknown>;

/** Opens `POST /` of a capsule; resolves when the response head is there. Throws `E-IO-003` when it cannot be reached. */
export async function openCall(call: CapsuleCall, wait: Wait = delay): Promise<IncomingMessage> {
  const { method, params, token, headers } = call;
  const body = encodeJsonRpcRequest(1, method, params);
  const head = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  };
  return await openRequest(call, { method: 'POST', path: '/', headers: head, body }, wait);
}

/** A JSON-RPC call with one answer of at most 4 MiB. Throws `E-IO-003` on anything but a result. */
export async function callCapsule(call: CapsuleCall): Promise<unknown> {
  const answer = await readJson(await openCall(call), call);
  const decoded = decodeJsonRpcAnswer(answer);
  if (decoded?.kind === 'result') return decoded.result;
  throw refusedCall(call.address, call.method, answer);
}

/** What `GET` of a path answers, without a token. Throws `E-IO-003` on anything but JSON of at most 4 MiB. */
export async function getJson(wanted: CapsuleRequest & { readonly path: string }): Promise<unknown> {
  const sent: Sent = { method: 'GET', path: wanted.path, headers: {}, body: '' };
  return await readJson(await openRequest(wanted, sent, delay), wanted);
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

async function openRequest(wanted: CapsuleRequest, sent: Sent, wait: Wait): Promise<IncomingMessage> {
  const timeout = wanted.timeoutMs === undefined ? undefined : AbortSignal.timeout(wanted.timeoutMs);
  for (const waitMs of [...backOffMs, null]) {
    try {
      return await send(wanted.address, sent, timeout);
    } catch (error) {
      const refused = errorCode(error) === 'ECONNREFUSED';
      if (!refused || waitMs === null) throw asUnreachable(wanted, error);
      await wait(waitMs);
    }
  }
  throw new Error('the last attempt returns or throws');
}

function send(address: string, sent: Sent, timeout: AbortSignal | undefined): Promise<IncomingMessage> {
  const { method, path, headers, body } = sent;
  const colon = address.lastIndexOf(':');
  const outgoing = request({
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
    method,
    path,
    agent: false,
    ...(timeout === undefined ? {} : { signal: timeout }),
    headers,
  });
  const response = responseOf(outgoing);
  outgoing.end(body);
  return response;
}

async function readJson(response: IncomingMessage, wanted: CapsuleRequest): Promise<unknown> {
  const { address } = wanted;
  const bytes = await readBody(response, wanted);
  if (bytes === undefined) throw new Diagnostic('E-IO-003', `the capsule at ${address} answered more than 4 MiB`);
  const { statusCode: status } = response;
  if (status !== 200) throw unexpectedAnswer(wanted, status, String(status));
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // Not JSON, or nested too deep to read.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw new Diagnostic('E-IO-003', `the capsule at ${address} did not answer with JSON`);
  }
}

async function readBody(response: IncomingMessage, wanted: CapsuleRequest): Promise<Buffer | undefined> {
  try {
    return await readUpTo(response, largestAnswerBytes);
  } catch (error) {
    // Reset, or cut by the timeout, in the middle of the answer.
    throw asUnreachable(wanted, error);
  }
}

function asUnreachable({ address, timeoutMs = 0 }: CapsuleRequest, error: unknown): unknown {
  if (!isCoded(error)) return error;
  return unreachable(address, error, timeoutMs);
}
