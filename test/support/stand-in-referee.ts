/** Stands in for the referee. */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Arrivals } from './arrivals.ts';

export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a stand-in child reports of itself, under `what`. */
export type Note = Readonly<Record<string, unknown>>;

export const approvalOfTest = 'msa1.approval-of-the-test';

/** A referee on a real socket that grants every spawn, until the test changes that. Children note at it what they do. */
export class StandInReferee {
  readonly spawns: Asked[] = [];
  readonly deregistered = new Arrivals<Asked>();
  readonly notes = new Arrivals<Note>();
  /** The answer to `POST /spawn`, instead of a grant. */
  refusal: { readonly status: number; readonly error: string } | null = null;
  /** What it grants. */
  approval = approvalOfTest;
  /** Answers no `POST /spawn` at all. */
  isSilent = false;
  /** Takes note of every `POST /deregister` and answers none. */
  isDeaf = false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      void bodyOf(request).then((body) => {
        const { status, answer } = this.#answer(request, body);
        if (request.url === '/spawn' && this.isSilent) return;
        if (request.url === '/deregister' && this.isDeaf) return;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
  }

  static async start(): Promise<StandInReferee> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new StandInReferee(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next note of this kind. */
  async noted(what: string): Promise<Note> {
    return await this.notes.next((note) => note['what'] === what);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer({ url, headers }: IncomingMessage, body: Note): { status: number; answer: unknown } {
    switch (url) {
      case '/spawn':
        this.spawns.push({ headers, body });
        return this.refusal === null
          ? { status: 200, answer: granted(body, this.approval) }
          : { status: this.refusal.status, answer: { error: this.refusal.error } };
      case '/deregister':
        this.deregistered.push({ headers, body });
        return { status: 200, answer: {} };
      case '/noted':
        this.notes.push(body);
        return { status: 200, answer: {} };
      default:
        return { status: 404, answer: { error: 'nothing is here' } };
    }
  }
}

function granted({ name, version }: Note, approval: string): unknown {
  return { approval, name, version, sha256: 'a'.repeat(64), expires_at_ms: 1_760_000_060_000 };
}

async function bodyOf(request: IncomingMessage): Promise<Note> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Note;
}
