/** Says why a call to a running capsule failed. */

import { ClientError } from '@svc/client/client-error.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import type { EventId } from '@svc/protocol/frames.ts';

/** The `E-IO-003` of a call that found no capsule, or lost it before the whole answer was there. `reason` is a clause. */
function unreachable(address: string, reason: string, cause: unknown): Diagnostic {
  return new Diagnostic('E-IO-003', `the capsule at ${address} cannot be reached: ${reason}`, {
    hint: 'svc ps lists the running capsules',
    cause,
  });
}

const askForToken = 'set SVC_LISTENER_TOKEN to the token of that capsule';
const unsendable = 'SVC_LISTENER_TOKEN holds what no header can, such as a line break';
const statusHints: Readonly<Record<number, string>> = {
  401: askForToken,
  421: 'name it by localhost or 127.0.0.1',
};

/** The capsule that a call went to, and whether svc kept a token back from it. */
interface Callee {
  /** `host:port` */
  readonly address: string;
  readonly isTokenKept?: boolean;
}

/**
 * The `E-IO-003` of an answer that no capsule gives, or that asks for a token; `E-IO-005` where svc has a token that it kept back. `what` names
 * the answer: `404`, `200 and no event stream`.
 */
function unexpectedAnswer({ address, isTokenKept }: Callee, status: number | null, what: string): Diagnostic {
  if (status === 401 && isTokenKept === true) return tokenKept(address);
  return new Diagnostic('E-IO-003', `the capsule at ${address} answered ${what}`, {
    hint: statusHints[status ?? 0] ?? 'is it a capsule? svc ps lists the running ones',
  });
}

function tokenKept(address: string): Diagnostic {
  const message = `the capsule at ${address} asks for a token; SVC_LISTENER_TOKEN was not sent, as no session of yours is bound there`;
  return new Diagnostic('E-IO-005', message, {
    hint: 'svc ps lists your sessions; --send-token sends it there all the same',
  });
}

/** The start of a peer's text, as long as a message repeats it. */
function cut(said: string, most: number): string {
  return said.length > most ? `${said.slice(0, most)}\u2026` : said;
}

const maxFault = 500;
const maxId = 100;

/** The id of a session in a peer's spelling. */
export function shownId(sessionId: string): string {
  return cut(sessionId, maxId);
}

/** The `E-IO-003` of a JSON-RPC answer without the wanted result. `said` is its reason, null without one. */
function refusedCall(address: string, method: string, said: string | null): Diagnostic {
  const shown = cut(said ?? 'neither a result nor an error', maxFault);
  return new Diagnostic('E-IO-003', `${method} was refused by the capsule at ${address}: ${shown}`, {
    hint: 'it may be another version of svc, or no capsule at all',
  });
}

interface AskedCapsule extends Callee {
  /** The JSON-RPC method of the call. */
  readonly method: string;
  readonly timeoutMs?: number;
}

/** The reason why a call failed, as a command prints it. Rethrows anything that is no failure of the other side. */
export function faultOf(error: unknown, { method, timeoutMs = 0, ...callee }: AskedCapsule): Diagnostic {
  if (!(error instanceof ClientError)) throw error;
  const { address } = callee;
  const { cause, status } = error;
  switch (error.code) {
    case 'unreachable':
      if (!isNetworkError(cause)) throw cause;
      return unreachable(address, networkReason(cause), cause);
    case 'bad-url':
      return unreachable(address, 'that is no address', cause);
    case 'timeout':
      return unreachable(address, `no answer within ${timeoutMs / 1000} s`, cause);
    case 'too-large':
      return new Diagnostic(
        'E-IO-003',
        `the capsule at ${address} answered more than 4 MiB, or more values than are read`,
      );
    case 'refused':
      return unexpectedAnswer(callee, status, String(status));
    case 'not-json':
      return new Diagnostic('E-IO-003', `the capsule at ${address} did not answer with JSON`);
    case 'bad-token':
      return new Diagnostic('E-IO-003', `the capsule at ${address} was sent nothing: ${unsendable}`, {
        hint: askForToken,
      });
    case 'fault':
    case 'bad-answer':
      return refusedCall(address, method, error.refusal);
    default:
      throw error;
  }
}

/** The same for a stream. */
export function streamFaultOf(error: unknown, asked: AskedCapsule): Diagnostic {
  if (!(error instanceof ClientError)) throw error;
  const { status } = error;
  if (errorCode(error.cause) === 'ECONNRESET') return connectionLost(asked.address, null);
  const isOther = error.code === 'refused' || error.code === 'no-stream';
  return isOther ? unexpectedAnswer(asked, status, `${status} and no event stream`) : faultOf(error, asked);
}

/** The `E-IO-003` of a stream that ended without `capsule-closed` (D1 "`svc watch` behaviour"). */
export function connectionLost(address: string, lastId: EventId | null): Diagnostic {
  const seen = lastId === null ? 'no event was seen' : `the last event id seen was ${lastId}`;
  return new Diagnostic('E-IO-003', `the connection to ${address} was lost; ${seen}`, {
    hint: 'run the command again to reattach',
  });
}
