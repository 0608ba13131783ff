import { isCoded } from '../diagnostics/system-reason.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';

/** How far a request had got. */
export interface Transfer {
  /** Of the body that is sent; null without one. */
  readonly toSend: number | null;
  sent: number;
  /** Announced for the answer; null before there is one, or when it announces nothing. */
  toReceive: number | null;
  received: number;
}

export type Ending = 'timeout' | 'interrupted' | null;

export interface FaultContext {
  /** Who was asked, for messages. */
  readonly label: string;
  readonly timeoutMs: number;
  readonly transfer: Transfer;
  /** Why `svc` itself ended the request; null when it did not. */
  readonly ending: Ending;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ECONNRESET: 'the connection was closed before everything had gone over it',
  EPIPE: 'the connection was closed before everything had gone over it',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  EPROTO: 'it does not speak TLS at this address',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS at this address',
};

const certificateFault = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT|HOSTNAME_MISMATCH)/;
const hints = {
  certificate: 'name the file of your own certificate authority in NODE_EXTRA_CA_CERTS',
  reach: 'check the address, and that this machine reaches it, through HTTPS_PROXY if need be',
  refused: 'nothing serves there: check address and port, and that the server runs',
  plain: 'a registry without TLS is reached from its own machine alone, with http:// in its address',
  slow: 'a request to a registry may take 30 seconds in all; try again on a faster line',
};

/** `E-IO-003` for a request that failed on its way; anything that is no failure of the network is returned as it is. */
export function transportFault(error: unknown, { label, timeoutMs, transfer, ending }: FaultContext): unknown {
  if (error instanceof Diagnostic) return error;
  if (ending === 'interrupted') return new Diagnostic('E-IO-003', `${label}: interrupted`);
  if (ending === 'timeout') {
    const seconds = timeoutMs / 1000;
    const message = `${label} was given up after ${seconds} seconds${progressOf(transfer)}`;
    return new Diagnostic('E-IO-003', message, { hint: hints.slow });
  }
  if (!isCoded(error)) return error;
  const { code } = error;
  if (certificateFault.test(code)) {
    return fault(`${label}: its certificate cannot be verified (${code})`, hints.certificate, error);
  }
  if (code.startsWith('HPE_')) return fault(`${label}: what it answers is not HTTP (${code})`, hints.reach, error);
  return fault(`${label}: ${networkReason(code)}${progressOf(transfer)}`, hintFor(code), error);
}

function hintFor(code: string): string {
  if (code === 'ECONNREFUSED') return hints.refused;
  return code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' ? hints.plain : hints.reach;
}

/** Why the network refused, as a clause for a person. */
export function networkReason(code: string): string {
  return reasons[code] ?? code;
}

function fault(message: string, hint: string, cause: unknown): Diagnostic {
  return new Diagnostic('E-IO-003', message, { hint, cause });
}

/** Nothing while nothing has gone over the line. */
function progressOf({ toSend, sent, toReceive, received }: Transfer): string {
  if (received > 0) return `, with ${received}${toReceive === null ? '' : ` of ${toReceive}`} bytes received`;
  return toSend === null ? '' : `, with ${sent} of ${toSend} bytes sent`;
}
