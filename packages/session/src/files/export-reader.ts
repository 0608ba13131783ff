/** Reads one exported file for either plane. */

import type { Reply, ReplyHeaders } from '@svc/kit/http/reply.ts';
import { release } from '@svc/kit/files/read-up-to.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { encodeFileFacts, type FileFacts } from '@svc/protocol/resource-files.ts';
import { ExportRoot, type Hides, systemRefusal, type OpenedFile } from './export-root.ts';
import type { FileContents } from './file-content.ts';
import { type FileContent, UnfinishedRead } from './hashed-content.ts';
import { type PlaneAnswer, refused } from './refused-requests.ts';

/** One block of `exports`, as configured. */
export interface ExportedFiles {
  readonly root: string;
  readonly max_bytes: number;
}

interface ExportReaderOptions {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  /** The exported root: relative to the workdir, without `.`, `..` and empty components; `.` is the workdir. */
  readonly root: string;
  readonly maxBytes: number;
  readonly achieved: ContainmentClass;
  readonly hides?: Hides | undefined;
  /** Tasks that reached a terminal state in this process (D3 "Generation"). */
  readonly generation: () => number;
  readonly contents: Pick<FileContents, 'read'>;
}

/** The reader of both planes: one file beneath one root, as it is now, with its validators (D3 "Path resolution", "Operator plane"). */
export class ExportReader {
  readonly root: ExportRoot;
  readonly #options: ExportReaderOptions;

  constructor(options: ExportReaderOptions) {
    this.#options = options;
    this.root = new ExportRoot(options);
  }

  /** The file at a sound path (`isSoundPath`). `ownHeaders` are the plane's, beside the validators. */
  read(path: string, ownHeaders: ReplyHeaders): PlaneAnswer | Promise<PlaneAnswer> {
    const opening = this.root.open(path);
    if (opening.kind === 'refused') return refused(opening.code);
    const { file } = opening;
    if (file.size > this.#options.maxBytes) {
      release(file.descriptor);
      return refused('too_large');
    }
    const facts = this.#factsOf(file);
    try {
      const content = this.#options.contents.read(file);
      if (!(content instanceof Promise)) return served(content, facts, ownHeaders);
      return content.then((ready) => served(ready, facts, ownHeaders)).catch(ioError);
    } catch (error) {
      return ioError(error);
    }
  }

  #factsOf({ mtimeMs }: OpenedFile): Omit<FileFacts, 'sha256'> {
    const { achieved: containment, generation } = this.#options;
    return { mtimeMs, generation: generation(), containment };
  }
}

/** The refusal of a read that failed. Anything but an error of the system or an `UnfinishedRead` is a bug and is thrown on. */
export function ioError(error: unknown): PlaneAnswer {
  if (!(error instanceof UnfinishedRead)) systemRefusal(error);
  return refused('io_error');
}

function served(
  { sha256, length, body, onDone }: FileContent,
  facts: Omit<FileFacts, 'sha256'>,
  ownHeaders: ReplyHeaders,
): PlaneAnswer {
  const headers = { ...encodeFileFacts({ sha256, ...facts }), connection: 'close', ...ownHeaders };
  const head = { status: 200, contentType: 'application/octet-stream', headers };
  const reply: Reply = Buffer.isBuffer(body)
    ? { kind: 'bytes', bytes: body, onDone, ...head }
    : { kind: 'file', file: body, start: 0, length, ...head };
  return { outcome: 'ok', reply, bytes: length };
}
