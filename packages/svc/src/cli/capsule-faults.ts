import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { EventId } from '@svc/protocol/frames.ts';
import { faultText } from '@svc/protocol/json-rpc.ts';

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no host has that name',
  EAI_AGAIN: 'its name cannot be looked up now',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that host',
  ETIMEDOUT: 'it does not answer',
};

/** The `E-IO-003` of a call that found no capsule, or lost it before the whole answer was there. */
export function unreachable(address: string, error: Error & { readonly code: unknown }, timeoutMs: number): Diagnostic {
  return new Diagnostic('E-IO-003', `the capsule at ${address} cannot be reached: ${reasonOf(error, timeoutMs)}`, {
    hint: 'svc ps lists the running capsules',
    cause: error,
  });
}

function reasonOf({ code, message }: Error & { readonly code: unknown }, timeoutMs: number): string {
  if (code === 'ABORT_ERR') return `no answer within ${timeoutMs / 1000} s`;
  if (String(code).startsWith('HPE_')) return 'what listens there does not speak HTTP';
  return reasons[String(code)] ?? (message === '' ? String(code) : message);
}

const statusHints: Readonly<Record<number, string>> = {
  401: 'set SVC_LISTENER_TOKEN to the token of that capsule',
  421: 'name it by localhost or 127.0.0.1',
};

/** Whom a call went to, and whether there is a token that it went without. */
export interface Callee {
  /** `host:port` */
  readonly address: string;
  readonly isTokenKept?: boolean;
}

/**
 * The `E-IO-003` of an answer that no capsule gives, or that asks for a token; `E-IO-005` where there is one that was kept back. `what` says
 * what came: `404`, `200 and no event stream`.
 */
export function unexpectedAnswer(
  { address, isTokenKept }: Callee,
  status: number | undefined,
  what: string,
): Diagnostic {
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

const longestFault = 500;

/** The `E-IO-003` of a JSON-RPC answer without the result that was asked for; what it says comes from outside. */
export function refusedCall(address: string, method: string, answer: unknown): Diagnostic {
  const said = faultText(answer) ?? 'neither a result nor an error';
  const shown = said.length > longestFault ? `${said.slice(0, longestFault)}\u2026` : said;
  return new Diagnostic('E-IO-003', `${method} was refused by the capsule at ${address}: ${shown}`, {
    hint: 'it may be another version of svc, or no capsule at all',
  });
}

/** The `E-IO-003` of a stream that ended without `capsule-closed` (D1 "`svc watch` behaviour"). */
export function connectionLost(address: string, lastId: EventId | null): Diagnostic {
  const seen = lastId === null ? 'no event was seen' : `the last event id seen was ${lastId}`;
  return new Diagnostic('E-IO-003', `the connection to ${address} was lost; ${seen}`, {
    hint: 'run the command again to reattach',
  });
}
