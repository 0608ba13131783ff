import { Readable } from 'node:stream';

import { HttpRefusal } from '../../src/http/refusal.ts';
import { emptyReply, jsonReply } from '../../src/http/reply.ts';
import type { Route } from '../../src/http/route.ts';
import { HttpServer } from '../../src/http/server.ts';
import type { HttpServerOptions } from '../../src/http/server-options.ts';

export const mebibyte = 1024 * 1024;

/** Servers with one route of every kind, and what their handlers saw. */
export class Kit {
  readonly handled: string[] = [];
  readonly bugs: unknown[] = [];
  readonly routes: readonly Route[];
  readonly servers: HttpServer[] = [];
  /** The source of the reply to `GET /held`, once it was asked for; it never gives anything. */
  readonly holding: Promise<Readable>;
  /** The source of the stream of events of `GET /told`, in the same way. */
  readonly telling: Promise<Readable>;
  #hold: (source: Readable) => void = () => undefined;
  #tell: (source: Readable) => void = () => undefined;
  #release: () => void = () => undefined;

  constructor() {
    this.holding = new Promise((resolve) => {
      this.#hold = resolve;
    });
    this.telling = new Promise((resolve) => {
      this.#tell = resolve;
    });
    this.routes = [
      {
        method: 'POST',
        path: '/',
        body: 'whole',
        maxBytes: 10 * mebibyte,
        handle: ({ body }) => {
          this.handled.push(`POST / ${body.length}`);
          return jsonReply({ bytes: body.length });
        },
      },
      {
        method: 'GET',
        path: '/card',
        open: true,
        body: 'unread',
        handle: () => ({ kind: 'bytes', status: 200, contentType: 'application/json', bytes: Buffer.from('{"a":1}') }),
      },
      {
        method: 'GET',
        path: '/echo/',
        prefix: true,
        body: 'unread',
        handle: ({ path, query }) => jsonReply({ path, query }),
      },
      {
        method: '*',
        path: '/any/',
        prefix: true,
        body: 'unread',
        handle: ({ method }) => {
          this.handled.push(method);
          return emptyReply(204);
        },
      },
      {
        method: 'PUT',
        path: '/streamed',
        body: 'streamed',
        maxBytes: mebibyte,
        handle: async ({ body }) => {
          let bytes = 0;
          for await (const chunk of body) bytes += chunk.length;
          this.handled.push(`PUT ${bytes}`);
          return jsonReply({ bytes });
        },
      },
      {
        method: 'PUT',
        path: '/late',
        body: 'streamed',
        maxBytes: mebibyte,
        handle: async ({ body }) => {
          this.handled.push('late');
          await new Promise<void>((resolve) => {
            this.#release = resolve;
          });
          try {
            for await (const chunk of body) this.handled.push(`${chunk.length} bytes`);
          } finally {
            this.handled.push('over');
          }
          return emptyReply(200);
        },
      },
      { method: 'PUT', path: '/unwanted', body: 'streamed', maxBytes: mebibyte, handle: () => emptyReply(409) },
      {
        method: 'GET',
        path: '/slow',
        body: 'unread',
        handle: async () => {
          this.handled.push('slow');
          await new Promise<void>((resolve) => {
            this.#release = resolve;
          });
          return jsonReply('slow');
        },
      },
      {
        method: 'GET',
        path: '/events',
        body: 'unread',
        handle: () => ({
          kind: 'stream',
          start: (response) => {
            this.handled.push('started');
            response.useChunkedEncodingByDefault = false;
            response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
            response.end('frames');
          },
        }),
      },
      {
        method: 'GET',
        path: '/endless',
        body: 'unread',
        handle: () => ({
          kind: 'stream',
          start: (response) => {
            response.useChunkedEncodingByDefault = false;
            response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
            response.flushHeaders();
          },
        }),
      },
      {
        method: 'GET',
        path: '/short',
        body: 'unread',
        handle: () => ({
          kind: 'readable',
          status: 200,
          contentType: 'text/plain',
          length: 10,
          source: Readable.from([Buffer.from('12345')]),
        }),
      },
      {
        method: 'GET',
        path: '/held',
        body: 'unread',
        handle: () => {
          const source = new Readable({ read: () => undefined });
          this.#hold(source);
          return { kind: 'readable', status: 200, contentType: 'text/plain', length: 1, source };
        },
      },
      {
        method: 'GET',
        path: '/told',
        body: 'unread',
        handle: () => {
          const source = new Readable({ read: () => undefined });
          this.#tell(source);
          return { kind: 'readable', status: 200, contentType: 'text/event-stream', length: null, source };
        },
      },
      {
        method: 'GET',
        path: '/read',
        body: 'unread',
        handle: () => {
          const source = Readable.from([Buffer.from('four')]);
          source.once('close', () => this.handled.push('closed /read'));
          return { kind: 'readable', status: 200, contentType: 'text/plain', length: 4, source };
        },
      },
      {
        method: 'GET',
        path: '/refused',
        body: 'unread',
        handle: () => {
          throw new HttpRefusal(410, 'handle_expired', 'It has expired.');
        },
      },
      {
        method: 'GET',
        path: '/bug',
        body: 'unread',
        handle: async () => {
          await Promise.resolve();
          throw new TypeError('a bug');
        },
      },
    ];
  }

  /** A server on loopback; its port. */
  async open(options: Partial<HttpServerOptions> = {}): Promise<number> {
    const { routes } = this;
    const server = new HttpServer({ routes, token: null, onBug: (error) => this.bugs.push(error), ...options });
    this.servers.push(server);
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error(bound.kind);
    return bound.port;
  }

  /** Lets the handler of `GET /slow` or `PUT /late` go on. */
  release(): void {
    this.#release();
  }

  /** Resolves once a handler has noted `entry`. */
  async noted(entry: string): Promise<void> {
    while (!this.handled.includes(entry)) await new Promise(setImmediate);
  }

  async close(): Promise<void> {
    this.release();
    await Promise.all(this.servers.map((server) => server.close(0)));
  }
}
