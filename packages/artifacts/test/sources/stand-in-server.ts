import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

export interface AskedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers as a test has it, and remembers what it was asked. It ends with the test. */
export class StandInServer {
  readonly asked: AskedRequest[] = [];
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.#server = createServer((request, response) => {
      this.asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
      answer(request, response);
    });
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
  }

  static async open(answer: Answer): Promise<StandInServer> {
    const server = new StandInServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Method and path of everything that was asked, in order. */
  get lines(): string[] {
    return this.asked.map(({ method, url }) => `${method} ${url}`);
  }
}

/** An answer with a status and a JSON body. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}
