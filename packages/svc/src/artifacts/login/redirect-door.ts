/** Waits for a person to come back from the browser in which they logged in. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';

const path = '/callback';
const maxConnections = 16;
const page = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

/** One port of 127.0.0.1, for one login: a browser that shows the state of it is led here (RFC 8252 §7.3). */
export class RedirectDoor {
  /** 256 bits of chance. */
  readonly state: string = randomBytes(32).toString('base64url');
  /** What the authorization server sent along. */
  readonly arrived: Promise<URLSearchParams>;
  readonly #server: Server;
  #arrive: (given: URLSearchParams) => void = () => {};

  /** `port` 0 takes a free one. `E-RUN-240` for one that is not. */
  static async open(port: number): Promise<RedirectDoor> {
    const door = new RedirectDoor();
    try {
      door.#server.listen(port, '127.0.0.1');
      await once(door.#server, 'listening');
    } catch (error) {
      if (!isSystemError(error)) throw error;
      throw new Diagnostic('E-RUN-240', `port ${port} of 127.0.0.1 cannot be listened at: ${systemReason(error)}`, {
        hint: 'leave --port out, or name a free one',
      });
    }
    return door;
  }

  private constructor() {
    this.arrived = new Promise((resolve) => (this.#arrive = resolve));
    this.#server = createServer((request, response) => {
      const url = new URL(`http://127.0.0.1${request.url?.startsWith('/') === true ? request.url : '/'}`);
      const isOurs = request.method === 'GET' && url.pathname === path && this.take(url);
      response.writeHead(isOurs ? 200 : 400, { ...page, connection: 'close' });
      response.end(isOurs ? 'svc has the answer. You can close this page.\n' : 'This belongs to no login.\n');
    });
    this.#server.maxConnections = maxConnections;
  }

  /** Where the browser is sent. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Takes the address that the browser was sent to. False for one that is not of this login. */
  take({ searchParams }: URL): boolean {
    if (searchParams.get('state') !== this.state) return false;
    this.#arrive(searchParams);
    return true;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
