/** Stands in for a capsule that answers with any bytes. */

import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What a capsule writes before the frames of a stream (D1 "`message/stream` and `stream/watch`"). */
export const streamHead =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: keep-alive\r\n\r\n';

/** One client of a played capsule, with the bytes of its one request. */
export interface PlayedConnection {
  readonly request: string;
  readonly socket: Socket;
}

/** A socket server that plays a capsule: it answers with the very bytes that a test gives it. */
export class PlayedCapsule {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly #arrived: PlayedConnection[] = [];
  #waiting: ((connection: PlayedConnection) => void)[] = [];

  private constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  static async open(): Promise<PlayedCapsule> {
    const capsule = new PlayedCapsule();
    capsule.#server.listen(0, '127.0.0.1');
    await once(capsule.#server, 'listening');
    return capsule;
  }

  /** `host:port` */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many clients have connected. */
  get clients(): number {
    return this.#sockets.length;
  }

  /** The next client whose request has come whole. */
  async connection(): Promise<PlayedConnection> {
    return this.#arrived.shift() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', () => socket.destroy());
    let request = '';
    socket.setEncoding('latin1').on('data', (bytes: string) => {
      request += bytes;
      if (!isWhole(request)) return;
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#arrived.push({ request, socket });
      else waiting({ request, socket });
    });
  }
}

function isWhole(request: string): boolean {
  const headEnd = request.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(request)?.[1] ?? '0';
  return headEnd !== -1 && request.length === headEnd + 4 + Number(length);
}
