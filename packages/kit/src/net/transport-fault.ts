import { isCoded } from '../diagnostics/system-reason.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { type NetworkFault, networkFault, networkReason } from './network-reason.ts';

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

const hints = {
  certificate: 'name the file of your own certificate authority in NODE_EXTRA_CA_CERTS',
  reach: 'check the address, and that this machine reaches it, through HTTPS_PROXY if need be',
  refused: 'check address and port, and that the server runs',
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
  const fault = networkFault(error.code);
  // What a stranger or no HTTP server was sent, and what came of it, is no progress.
  const progress = fault === 'certificate' || fault === 'no-http' ? '' : progressOf(transfer);
  const message = `${label}: ${networkReason(error)}${progress}`;
  return new Diagnostic('E-IO-003', message, { hint: hintFor(fault), cause: error });
}

function hintFor(fault: NetworkFault | undefined): string {
  if (fault === 'certificate') return hints.certificate;
  if (fault === 'refused') return hints.refused;
  return fault === 'no-tls' ? hints.plain : hints.reach;
}

/** Nothing while nothing has gone over the line. */
function progressOf({ toSend, sent, toReceive, received }: Transfer): string {
  if (received > 0) return `, with ${received}${toReceive === null ? '' : ` of ${toReceive}`} bytes received`;
  return toSend === null ? '' : `, with ${sent} of ${toSend} bytes sent`;
}
