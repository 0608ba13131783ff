/** A proxy as companies have it: it connects where its routes say, and keeps what it was asked. */

import { createServer, request as ask, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

import { onTestFinished } from 'vitest';

interface ProxySetting {
  /** The port of this machine that stands for `host:port`; a proxy has no other way there. */
  readonly route: (target: string) => number | null;
  /** What a request for a connection is answered; 200 where it is connected. */
  readonly status?: number;
}

export class StandInProxy {
  /** `host:port` of each tunnel, and the whole address of each plain request. */
  readonly asked: string[] = [];
  /** The `proxy-authorization` of each. */
  readonly credentials: (string | undefined)[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor({ route, status = 200 }: ProxySetting) {
    this.#server = createServer((request, response) => {
      const url = new URL(this.#note(request));
      const port = route(`${url.hostname}:${url.port === '' ? '80' : url.port}`);
      if (port === null) return void response.writeHead(502).end();
      const { 'proxy-authorization': _own, ...headers } = request.headers;
      const upstream = ask({
        host: '127.0.0.1',
        port,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers,
      });
      upstream.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)));
      request.pipe(upstream);
    });
    this.#server.on('connect', (request: IncomingMessage, client: Duplex) => {
      const port = route(this.#note(request));
      if (status !== 200 || port === null)
        return void client.end(`HTTP/1.1 ${status === 200 ? 502 : status} No\r\n\r\n`);
      const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      upstream.once('connect', () => client.write('HTTP/1.1 200 Connected\r\n\r\n'));
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => socket.destroy());
      }
      client.pipe(upstream).pipe(client);
    });
  }

  #note({ url = '', headers }: IncomingMessage): string {
    this.asked.push(url);
    this.credentials.push(headers['proxy-authorization']);
    return url;
  }

  /** Closed by `close`. */
  static async open(setting: ProxySetting): Promise<StandInProxy> {
    const proxy = new StandInProxy(setting);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** For one test. */
  static async forTest(setting: ProxySetting): Promise<StandInProxy> {
    const proxy = await StandInProxy.open(setting);
    onTestFinished(() => proxy.close());
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
