import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { type Answer, StandInServer } from './stand-in-server.ts';

export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A registry of OCI that keeps everything in memory. `fault` sees each request first, and answers in its place where it returns true. */
export class MemoryOci {
  readonly blobs = new Map<string, Buffer>();
  readonly manifests = new Map<string, { readonly type: string; readonly bytes: Buffer }>();
  readonly #uploads = new Map<string, Buffer>();
  /** Whether it has the API for what refers to a manifest. */
  listsReferrers = false;
  fault: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  #server: StandInServer | null = null;

  static async open(): Promise<MemoryOci> {
    const registry = new MemoryOci();
    registry.#server = await StandInServer.open((request, response) => registry.#answer(request, response));
    return registry;
  }

  get server(): StandInServer {
    if (this.#server === null) throw new Error('it is not open');
    return this.#server;
  }

  get host(): string {
    return `127.0.0.1:${this.server.port}`;
  }

  /** Puts a document under a tag and under its digest. */
  put(path: string, type: string, document: object, tag: string | null = null): string {
    const bytes = Buffer.from(JSON.stringify(document));
    const digest = digestOf(bytes);
    for (const at of [digest, ...(tag === null ? [] : [tag])]) this.manifests.set(`${path} ${at}`, { type, bytes });
    return digest;
  }

  readonly #answer: Answer = (request, response) => {
    if (this.fault(request, response)) return;
    const url = new URL(request.url ?? '', 'http://registry');
    const [, path = '', kind = '', at = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.*)$/.exec(url.pathname) ?? [];
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const [, subject] = /\/referrers\/(sha256:[0-9a-f]{64})$/.exec(url.pathname) ?? [];
      if (subject !== undefined) {
        this.#referrers(response, subject);
        return;
      }
      if (kind === 'manifests') this.#manifest(request, response, { path, at, body });
      else if (at.startsWith('uploads/')) this.#upload(request, response, { path, url, body });
      else this.#blob(request, response, at);
    });
  };

  #manifest(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    { path, at, body }: { readonly path: string; readonly at: string; readonly body: Buffer },
  ): void {
    if (method === 'PUT') {
      const held = { type: headers['content-type'] ?? '', bytes: body };
      for (const key of [at, digestOf(body)]) this.manifests.set(`${path} ${key}`, held);
      const { subject } = JSON.parse(String(body)) as { subject?: { digest: string } };
      const isListed = this.listsReferrers && subject !== undefined;
      response.writeHead(201, isListed ? { 'oci-subject': subject.digest } : {}).end();
      return;
    }
    const found = this.manifests.get(`${path} ${at}`);
    if (found === undefined) response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    else response.writeHead(200, { 'content-type': found.type }).end(found.bytes);
  }

  #referrers(response: ServerResponse, wanted: string): void {
    if (!this.listsReferrers) {
      response.writeHead(404).end();
      return;
    }
    const manifests = new Map<string, object>();
    for (const { type: mediaType, bytes } of this.manifests.values()) {
      const { subject, artifactType } = JSON.parse(String(bytes)) as {
        subject?: { digest: string };
        artifactType: string;
      };
      if (subject?.digest !== wanted) continue;
      manifests.set(digestOf(bytes), { mediaType, digest: digestOf(bytes), size: bytes.length, artifactType });
    }
    response.writeHead(200, { 'content-type': 'application/vnd.oci.image.index.v1+json' });
    response.end(JSON.stringify({ schemaVersion: 2, manifests: [...manifests.values()] }));
  }

  #blob({ method, headers }: IncomingMessage, response: ServerResponse, digest: string): void {
    const found = this.blobs.get(digest);
    if (found === undefined) {
      response.writeHead(404).end();
      return;
    }
    const [, from] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
    const bytes = from === undefined ? found : found.subarray(Number(from));
    response.writeHead(from === undefined ? 200 : 206, { 'content-length': bytes.length });
    response.end(method === 'HEAD' ? undefined : bytes);
  }

  #upload(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    { path, url, body }: { readonly path: string; readonly url: URL; readonly body: Buffer },
  ): void {
    const id = method === 'POST' ? randomUUID() : (url.pathname.split('/').at(-1) ?? '');
    const before = this.#uploads.get(id) ?? Buffer.alloc(0);
    const location = `/v2/${path}/blobs/uploads/${id}`;
    const range = (bytes: Buffer): string => `0-${Math.max(0, bytes.length - 1)}`;
    switch (method) {
      case 'POST':
        this.#uploads.set(id, before);
        response.writeHead(202, { location }).end();
        return;
      case 'PATCH': {
        const [, at] = /^(\d+)-\d+$/.exec(headers['content-range'] ?? '') ?? [];
        if (Number(at) !== before.length) {
          response.writeHead(416, { location, range: range(before) }).end();
          return;
        }
        const whole = Buffer.concat([before, body]);
        this.#uploads.set(id, whole);
        response.writeHead(202, { location, range: range(whole) }).end();
        return;
      }
      case 'GET':
        response.writeHead(204, { location, range: range(before) }).end();
        return;
      default: {
        const digest = url.searchParams.get('digest') ?? '';
        if (digestOf(before) !== digest) {
          response
            .writeHead(400)
            .end('{"errors":[{"code":"DIGEST_INVALID","message":"provided digest did not match"}]}');
          return;
        }
        this.blobs.set(digest, before);
        response.writeHead(201).end();
      }
    }
  }
}
