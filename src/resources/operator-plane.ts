import { Readable } from 'node:stream';

import type { Reply, ReplyHeaders } from '../http/reply.ts';
import type { ContainmentClass } from '../wire/containment-class.ts';
import { release } from './descriptor-io.ts';
import { ExportRoot, systemRefusal, type OpenedFile } from './export-root.ts';
import { FileContents, type FileContent } from './file-content.ts';
import { encodeListing, listFiles, type ListedFile } from './listing.ts';
import { parseResourcePath } from './resource-path.ts';
import { resourceRefusal, type ResourceRefusalCode } from './resource-refusal.ts';
import { Spool } from './spool.ts';

export interface OperatorPlaneOptions {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  /** `exports.files.root` as configured. */
  readonly configuredRoot: string;
  /** The same root, spelt one way: relative, without `.` and empty components; `.` is the workdir. */
  readonly root: string;
  readonly maxBytes: number;
  readonly achieved: ContainmentClass;
  /** Tasks that reached a terminal state in this process (D3 "Generation"). */
  readonly generation: () => number;
  /** A directory of `svc` alone, for files too large to be held in memory while they are sent. */
  readonly spoolDirectory: string;
}

/** What became of a request: the reply, and what is to be recorded of it. */
export interface PlaneAnswer {
  readonly reply: Reply;
  readonly outcome: 'ok' | ResourceRefusalCode;
  /** Of a read. */
  readonly bytes?: number;
  /** Of a listing that is whole. */
  readonly entries?: number;
}

/** How a listing that was sent as it was made came to its end; its status was 200 either way. */
export interface StreamedListing {
  readonly outcome: 'ok' | 'io_error';
  readonly entries: number;
}

/** Below this a listing goes out as one JSON reply; above, as it is made. */
const wholeListingLength = 64 * 1024;

/** `GET /resources/files` and below: the files of one export root, by path, as they are now (D3 "Operator plane"). */
export class OperatorPlane {
  readonly #options: OperatorPlaneOptions;
  readonly #root: ExportRoot;
  readonly #contents: FileContents;
  readonly #constantHeaders: ReplyHeaders;

  constructor(options: OperatorPlaneOptions) {
    this.#options = options;
    this.#root = new ExportRoot(options);
    this.#contents = new FileContents(new Spool(options.spoolDirectory));
    this.#constantHeaders = {
      'x-svc-containment': options.achieved,
      // One character a byte is how a header carries UTF-8.
      'x-svc-export-root': Buffer.from(options.configuredRoot, 'utf8').toString('latin1'),
      connection: 'close',
    };
  }

  /** One file, by the rest of the request target as sent. */
  read(rawPath: string): PlaneAnswer | Promise<PlaneAnswer> {
    const path = parseResourcePath(rawPath);
    if (path === undefined) return refused('outside_root');
    const opening = this.#root.open(path);
    if (opening.kind === 'refused') return refused(opening.code);
    const { file } = opening;
    if (file.size > this.#options.maxBytes) {
      release(file.descriptor);
      return refused('too_large');
    }
    const generation = this.#options.generation();
    try {
      const content = this.#contents.read(file);
      if (!(content instanceof Promise)) return this.#served(file, content, generation);
      return content.then((ready) => this.#served(file, ready, generation)).catch(ioError);
    } catch (error) {
      return ioError(error);
    }
  }

  /** The listing document. One too long to wait for has a readable reply, and `onStreamed` is told once it has ended. */
  async list(onStreamed: (listing: StreamedListing) => void): Promise<PlaneAnswer> {
    const { configuredRoot, maxBytes, achieved, generation } = this.#options;
    const root = this.#root.resolve();
    if (root.kind === 'refused') return refused(root.code);
    const head = {
      root: configuredRoot,
      mode: 'read-only',
      max_bytes: maxBytes,
      generation: generation(),
      containment_achieved: achieved,
    } as const;
    const tally: Tally = { entries: 0, failed: false };
    const files = root.kind === 'absent' ? nothing() : counted(listFiles(root.real), tally);
    try {
      const reply = await listingReply(encodeListing(head, files));
      if (reply.kind !== 'readable') return { outcome: 'ok', reply, entries: tally.entries };
      reply.source.once('close', () => {
        onStreamed({ outcome: tally.failed ? 'io_error' : 'ok', entries: tally.entries });
      });
      return { outcome: 'ok', reply };
    } catch (error) {
      return ioError(error);
    }
  }

  #served(file: OpenedFile, { sha256, length, body }: FileContent, generation: number): PlaneAnswer {
    const headers = {
      etag: `"sha256:${sha256}"`,
      'x-svc-mtime-ms': String(file.mtimeMs),
      'x-svc-generation': String(generation),
      ...this.#constantHeaders,
    };
    const head = { status: 200, contentType: 'application/octet-stream', headers };
    const reply: Reply = Buffer.isBuffer(body)
      ? { kind: 'bytes', bytes: body, ...head }
      : { kind: 'readable', source: body, length, ...head };
    return { outcome: 'ok', reply, bytes: length };
  }
}

export function refused(code: ResourceRefusalCode): PlaneAnswer {
  return { outcome: code, reply: resourceRefusal(code).reply };
}

function ioError(error: unknown): PlaneAnswer {
  systemRefusal(error);
  return refused('io_error');
}

async function listingReply(pieces: AsyncGenerator<string>): Promise<Reply> {
  let text = '';
  while (text.length < wholeListingLength) {
    const piece = await pieces.next();
    if (piece.done === true) return { kind: 'json', status: 200, text };
    text += piece.value;
  }
  const source = Readable.from(continued(text, pieces));
  return { kind: 'readable', status: 200, contentType: 'application/json', length: null, source };
}

async function* continued(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

interface Tally {
  entries: number;
  failed: boolean;
}

async function* counted(files: AsyncIterable<ListedFile>, tally: Tally): AsyncGenerator<ListedFile> {
  try {
    for await (const file of files) {
      tally.entries += 1;
      yield file;
    }
  } catch (error) {
    tally.failed = true;
    throw error;
  }
}

async function* nothing(): AsyncGenerator<never> {}
