import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

/** A request as the service understood it; `name` is what of the path follows the bucket, decoded. */
export interface SeenRequest {
  readonly method: string;
  readonly name: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface Kept {
  body: Buffer;
  changed: Date;
}

/** Returns true when it has dealt with the request itself; the service answers as it should otherwise. */
export type Misbehaviour = (request: SeenRequest, response: ServerResponse, standIn: S3StandIn) => boolean;

export const standInUser = { accessKeyId: 'standin', secretAccessKey: 'secret-of-the-stand-in' };
const pageLength = 1_000;

/** A small S3 service in memory that behaves until a test changes that. It checks hashes, not signatures: the real service does. */
export class S3StandIn {
  readonly objects = new Map<string, Kept>();
  readonly seen: string[] = [];
  misbehave: Misbehaviour | null = null;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<S3StandIn> {
    const standIn = new S3StandIn();
    standIn.#server.listen(0, '127.0.0.1');
    await once(standIn.#server, 'listening');
    onTestFinished(() => standIn.stop());
    return standIn;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The names of all objects below a folder of the store. */
  names(folder: string): string[] {
    return [...this.objects.keys()].filter((name) => name.startsWith(folder)).sort();
  }

  /** Does what was asked, as a service should. */
  answer({ method, name, query, headers, body }: SeenRequest, response: ServerResponse): void {
    const kept = this.objects.get(name);
    if (method === 'GET' && name === '') this.#list(query, response);
    else if (method === 'PUT') this.#put({ name, headers, body }, response);
    else if (method === 'DELETE') {
      this.objects.delete(name);
      response.writeHead(204).end();
    } else if (kept === undefined) refuse(response, 404, 'NoSuchKey');
    else this.#get(kept.body, headers.range, response);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const url = new URL(request.url ?? '', 'http://x');
    const [, , ...path] = url.pathname.split('/');
    const seen = {
      method: request.method ?? '',
      name: decodeURIComponent(path.join('/')),
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    this.seen.push(`${seen.method} ${seen.name}`);
    if (this.misbehave?.(seen, response, this) !== true) this.answer(seen, response);
  }

  #put({ name, headers, body }: Pick<SeenRequest, 'name' | 'headers' | 'body'>, response: ServerResponse): void {
    if (createHash('sha256').update(body).digest('hex') !== headers['x-amz-content-sha256']) {
      refuse(response, 400, 'XAmzContentSHA256Mismatch');
    } else if (headers['if-none-match'] === '*' && this.objects.has(name)) {
      refuse(response, 412, 'PreconditionFailed');
    } else {
      this.objects.set(name, { body, changed: new Date() });
      response.writeHead(200, { etag: '"x"' }).end();
    }
  }

  #get(body: Buffer, range: string | undefined, response: ServerResponse): void {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    if (from === undefined || to === undefined) {
      response.writeHead(200, { 'content-length': body.length }).end(body);
      return;
    }
    const part = body.subarray(Number(from), Number(to) + 1);
    const headers = { 'content-range': `bytes ${from}-${to}/${body.length}`, 'content-length': part.length };
    response.writeHead(206, headers).end(part);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const after = query.get('continuation-token')?.replace(/^after<&>/, '') ?? '';
    const names = this.names(query.get('prefix') ?? '').filter((name) => name > after);
    const page = names.slice(0, Number(query.get('max-keys') ?? pageLength));
    const entries = page.map((name) => {
      const changed = this.objects.get(name)?.changed.toISOString() ?? '';
      return `<Contents><Key>${name}</Key><LastModified>${changed}</LastModified><Size>1</Size></Contents>`;
    });
    const more = names.length > page.length;
    const next = more ? `<NextContinuationToken>after&lt;&#38;&#x3e;${page.at(-1)}</NextContinuationToken>` : '';
    const xml = `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${entries.join('')}</ListBucketResult>\n`;
    response.writeHead(200, { 'content-type': 'application/xml' }).end(xml);
  }
}

/** A refusal as S3 words it. */
export function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`);
}
