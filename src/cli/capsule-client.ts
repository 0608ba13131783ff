import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { responseOf } from '../http/response-of.ts';
import { refusedCall, unexpectedAnswer, unreachable } from './capsule-faults.ts';

export interface CapsuleCall {
  /** `host:port` */
  readonly address: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Sent as a bearer token when the capsule requires one (`SVC_LISTENER_TOKEN`). */
  readonly token: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole exchange; without it a call waits for ever. */
  readonly timeoutMs?: number;
}

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];

/** Opens `POST /` of a capsule; resolves when the response head is there. Throws `E-IO-003` when it cannot be reached. */
export async function openCall(
  call: CapsuleCall,
  wait: (ms: number) => Promise<unknown> = delay,
): Promise<IncomingMessage> {
  const timeout = call.timeoutMs === undefined ? undefined : AbortSignal.timeout(call.timeoutMs);
  for (const waitMs of [...backOffMs, null]) {
    try {
      return await send(call, timeout);
    } catch (error) {
      const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
      if (!refused || waitMs === null) throw asUnreachable(call, error);
      await wait(waitMs);
    }
  }
  throw new Error('the last attempt returns or throws');
}

/** A JSON-RPC call with one answer. Throws `E-IO-003` on anything but a result. */
export async function callCapsule(call: CapsuleCall): Promise<unknown> {
  const response = await openCall(call);
  const text = await readText(response, call);
  if (response.statusCode !== 200)
    throw unexpectedAnswer(call.address, response.statusCode, String(response.statusCode));
  return resultOf(text, call);
}

async function readText(response: IncomingMessage, call: CapsuleCall): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    // Reset, or cut by the timeout, in the middle of the answer.
    throw asUnreachable(call, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function asUnreachable({ address, timeoutMs = 0 }: CapsuleCall, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  return unreachable(address, error, timeoutMs);
}

function send(call: CapsuleCall, timeout: AbortSignal | undefined): Promise<IncomingMessage> {
  const { address, method, params, token, headers } = call;
  const colon = address.lastIndexOf(':');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const outgoing = request({
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
    method: 'POST',
    path: '/',
    agent: false,
    ...(timeout === undefined ? {} : { signal: timeout }),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
  const response = responseOf(outgoing);
  outgoing.end(body);
  return response;
}

function resultOf(text: string, call: CapsuleCall): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Diagnostic('E-IO-003', `the capsule at ${call.address} did not answer with JSON`);
  }
  if (typeof answer === 'object' && answer !== null && 'result' in answer) return answer.result;
  throw refusedCall(call.address, call.method, answer);
}
