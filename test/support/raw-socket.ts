/** Sends bytes over a connection exactly as they are. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection that sends exactly the given bytes and keeps all it receives. */
export class RawSocket {
  readonly socket: Socket;
  received = '';
  ended = false;
  #changed: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => this.#note(() => (this.received += chunk)));
    socket.on('close', () => this.#note(() => (this.ended = true)));
    socket.on('error', () => socket.destroy());
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Resolves once what was received holds `text`; rejects when the connection ends without it. */
  async until(text: string): Promise<string> {
    for (;;) {
      if (this.received.includes(text)) return this.received;
      if (this.ended) throw new Error(`the connection ended without ${JSON.stringify(text)}: ${this.received}`);
      await this.#change();
    }
  }

  /** Everything received, once the other side has closed. */
  async untilClosed(): Promise<string> {
    while (!this.ended) await this.#change();
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  #note(change: () => void): void {
    change();
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

/** A `POST /` with a JSON body, as bytes. */
export function postBytes(body: string, headers: readonly string[] = []): string {
  return [
    'POST / HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}

/** What follows the head of a response. */
export function bodyOf(response: string): string {
  return response.slice(response.indexOf('\r\n\r\n') + 4);
}
