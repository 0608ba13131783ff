/** Keeps connections that have not shown the token from taking the room of those that have: any user of this machine can open as many as there are. */

import type { Socket } from 'node:net';

/** Limit for all connections; the page itself is fetched on one of these. */
const maxStrangers = 32;
/** Time in which a connection has to show the token. */
const strangerMs = 15_000;

export class Strangers {
  /** In the order in which they came. */
  readonly #known = new Map<Socket, NodeJS.Timeout>();

  /** When there are too many, the oldest goes. */
  came(connection: Socket): void {
    const timer = setTimeout(() => connection.destroy(), strangerMs);
    timer.unref();
    this.#known.set(connection, timer);
    connection.once('close', () => this.trust(connection));
    const [oldest] = this.#known.keys();
    if (oldest === undefined || this.#known.size <= maxStrangers) return;
    this.trust(oldest);
    oldest.destroy();
  }

  /** It has shown the token: from now on it stays for as long as it likes. */
  trust(connection: Socket): void {
    clearTimeout(this.#known.get(connection));
    this.#known.delete(connection);
  }
}
