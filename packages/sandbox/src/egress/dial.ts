/** Connects to one of several addresses, within a time. */

import { connect, type Socket } from 'node:net';

/** Opens a connection to an address, never to a name. */
export type Connect = (to: { readonly address: string; readonly port: number }) => Socket;

/** Half-open, so that the end of one direction can be passed on alone. */
export const connectDirectly: Connect = ({ address, port }) =>
  connect({ host: address, port, allowHalfOpen: true, noDelay: true });

export type Dialed =
  | { readonly kind: 'connected'; readonly socket: Socket }
  /** `reason` is the system's word for it: `ECONNREFUSED`; of the last address that was tried. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface DialRequest {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly connect: Connect;
  readonly signal: AbortSignal;
}

const headStartMs = 250;

/**
 * Connects to the first of the addresses that answers. The next is tried when one fails or keeps silent for 250 ms, so an
 * address family that leads nowhere costs little. All but the winner are closed; so are all when the signal says so.
 */
export function dial(request: DialRequest): Promise<Dialed> {
  return new Promise((resolve) => new Dial(request, resolve).next());
}

class Dial {
  readonly #request: DialRequest;
  readonly #resolve: (dialed: Dialed) => void;
  readonly #waiting: string[];
  readonly #attempts = new Set<Socket>();
  #headStart: NodeJS.Timeout | undefined;
  #reason = 'ENOTFOUND';

  constructor(request: DialRequest, resolve: (dialed: Dialed) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#waiting = [...request.addresses];
    request.signal.addEventListener('abort', this.#abort);
  }

  next(): void {
    clearTimeout(this.#headStart);
    if (this.#request.signal.aborted) {
      this.#abort();
      return;
    }
    const address = this.#waiting.shift();
    if (address !== undefined) this.#try(address);
    else if (this.#attempts.size === 0) this.#settle({ kind: 'failed', reason: this.#reason });
  }

  #try(address: string): void {
    const socket = this.#request.connect({ address, port: this.#request.port });
    this.#attempts.add(socket);
    // Stays for the life of the socket: what an error means later, `close` tells.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.#reason = code ?? 'unknown';
      socket.destroy();
      if (this.#attempts.delete(socket)) this.next();
    });
    socket.once('connect', () => {
      if (this.#attempts.delete(socket)) this.#settle({ kind: 'connected', socket });
    });
    if (this.#waiting.length > 0) this.#headStart = setTimeout(() => this.next(), headStartMs);
  }

  readonly #abort = (): void => {
    this.#settle({ kind: 'failed', reason: 'ABORTED' });
  };

  #settle(dialed: Dialed): void {
    clearTimeout(this.#headStart);
    this.#request.signal.removeEventListener('abort', this.#abort);
    this.#waiting.length = 0;
    const losers = [...this.#attempts];
    this.#attempts.clear();
    for (const socket of losers) socket.destroy();
    this.#resolve(dialed);
  }
}
