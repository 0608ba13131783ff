import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';

import { errorCode, isCoded } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { GatheredBytes } from '@svc/kit/gathered-bytes.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { ApproachedCapsule } from './approach-capsule.ts';
import { openCall } from './capsule-client.ts';
import { connectionLost, refusedCall, unexpectedAnswer } from './capsule-faults.ts';

/** A host that vanished sends no word; the kernel asks it. Silence of a busy capsule is no reason to go (D1 "Heartbeat"). */
const keepAliveMs = 30_000;
const refusalMs = 2000;
const longestRefusal = 64 * 1024;

/**
 * Asks a capsule for its event stream from the start of what it still holds (D1 "`svc watch` behaviour"). Throws
 * `E-IO-003` when it cannot be reached or answers anything else. The caller closes the response.
 */
export async function openWatch(capsule: ApproachedCapsule): Promise<IncomingMessage> {
  const response = await ask(capsule);
  if (response.statusCode === 200 && mediaType(response) === 'text/event-stream') {
    response.socket.setKeepAlive(true, keepAliveMs);
    return response;
  }
  throw await refusal(capsule, response);
}

async function ask({ address, token }: ApproachedCapsule): Promise<IncomingMessage> {
  try {
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': '0' };
    return await openCall({ address, method: 'stream/watch', params: {}, token, headers });
  } catch (error) {
    if (error instanceof Diagnostic && errorCode(error.cause) === 'ECONNRESET') throw connectionLost(address, null);
    throw error;
  }
}

async function refusal(capsule: ApproachedCapsule, response: IncomingMessage): Promise<Diagnostic> {
  const { address } = capsule;
  const { statusCode: status } = response;
  if (status === 200 && mediaType(response) === 'application/json') {
    const answer = parseJsonText(await firstText(response));
    if (answer.kind === 'json') return refusedCall(address, 'stream/watch', answer.value);
  }
  response.destroy();
  return unexpectedAnswer(capsule, status, `${status} and no event stream`);
}

/** The start of an answer; what does not come in time is not waited for. Closes the response. */
async function firstText(response: IncomingMessage): Promise<string> {
  const gathered = new GatheredBytes();
  try {
    for await (const chunk of addAbortSignal(AbortSignal.timeout(refusalMs), response)) {
      gathered.append(chunk as Buffer);
      if (gathered.length > longestRefusal) break;
    }
  } catch (error) {
    // Cut off, or late: what has come is all there is.
    if (!isCoded(error)) throw error;
  }
  return gathered.take().toString('utf8');
}

function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}
