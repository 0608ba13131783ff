/** Serves what attempts on the network try to reach. */

import { randomBytes } from 'node:crypto';
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

const mostTries = 20;

/** Servers of this machine that answer each connection with a text. */
export class GreetingServers {
  readonly #greeting: string;
  readonly #servers: Server[] = [];
  readonly #datagrams: DatagramSocket[] = [];
  #port: Promise<number> | null = null;

  constructor(greeting: string) {
    this.#greeting = greeting;
  }

  /** A TCP port on which both 127.0.0.1 and 127.0.0.2 greet. */
  async tcpPort(): Promise<number> {
    this.#port ??= this.#listenOnBoth();
    return await this.#port;
  }

  /** Another TCP port of 127.0.0.1. */
  async otherPort(): Promise<number> {
    return portOf(await this.#listen({ host: '127.0.0.1', port: 0 }));
  }

  async udpPort(): Promise<number> {
    const socket = createSocket('udp4');
    this.#datagrams.push(socket);
    socket.on('message', (_message, from) => socket.send(this.#greeting, from.port, from.address));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return socket.address().port;
  }

  /** A UNIX socket with that path. */
  async unixPath(path: string): Promise<string> {
    await this.#listen({ path });
    return path;
  }

  /** A UNIX socket in the abstract space; its name with the leading NUL written as `@`. */
  async abstractName(): Promise<string> {
    const name = `svc-attempts-${randomBytes(8).toString('hex')}`;
    await this.#listen({ path: `\0${name}` });
    return `@${name}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#datagrams.splice(0)) socket.close();
    await Promise.all(this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  }

  /** A port that is free on one address may be taken on the other. */
  async #listenOnBoth(): Promise<number> {
    for (let tries = 0; ; tries++) {
      const first = await this.#listen({ host: '127.0.0.1', port: 0 });
      try {
        await this.#listen({ host: '127.0.0.2', port: portOf(first) });
        return portOf(first);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === mostTries) throw error;
      }
    }
  }

  async #listen(options: ListenOptions): Promise<Server> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.resume();
      socket.end(this.#greeting);
    });
    server.listen(options);
    await once(server, 'listening');
    this.#servers.push(server);
    return server;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
  return address.port;
}
