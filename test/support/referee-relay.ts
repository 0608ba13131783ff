/** Stands between capsules and their referee, and writes down what they say. */

import { createServer, request, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Relayed {
  /** `POST /spawn`, for example. */
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  readonly status: number;
  readonly answer: unknown;
}

/** Stands between capsules and their referee, hands everything on and writes it down. */
export class RefereeRelay {
  readonly relayed: Relayed[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(referee: string): Promise<RefereeRelay> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const relay = new RefereeRelay(server);
    server.on('request', (incoming, outgoing) => {
      void relay.#hand(incoming, referee).then(({ status, text }) => {
        outgoing.writeHead(status, { 'content-type': 'application/json' }).end(text);
      });
    });
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What was asked, in the order of the answers. */
  get asked(): readonly string[] {
    return this.relayed.map(({ what }) => what);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #hand(incoming: IncomingMessage, referee: string): Promise<{ status: number; text: string }> {
    const { method = '', url = '', headers } = incoming;
    const sent = await textOf(incoming);
    const { host: _host, ...rest } = headers;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const handed = request(new URL(url, referee), { method, headers: rest, agent: false }, resolve);
      handed.once('error', reject);
      handed.end(sent);
    });
    const text = await textOf(answer);
    const status = answer.statusCode ?? 0;
    this.relayed.push({ what: `${method} ${url}`, headers, body: JSON.parse(sent), status, answer: JSON.parse(text) });
    return { status, text };
  }
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
