/** Answers requests for the list of all exported files, a bounded number at a time. */

import { Readable } from 'node:stream';

import { ByteBudget } from '@svc/kit/http/byte-budget.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import { encodeListing, type ListedFile } from '@svc/protocol/resource-files.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { ioError, type ExportedFiles, ExportReader } from './export-reader.ts';
import { type PlaneAnswer, refused } from './refused-requests.ts';
import { UnfinishedRead } from './hashed-content.ts';
import { listFiles } from './listing.ts';

export interface OperatorPlaneOptions {
  /** `exports.files`. */
  readonly files: ExportedFiles;
  readonly achieved: ContainmentClass;
  /** Tasks that reached a terminal state in this process (D3 "Generation"). */
  readonly generation: () => number;
  /** Reads below the same root. */
  readonly reader: ExportReader;
}

/** Who waits for a listing. */
export interface ListingRequest {
  /** Asked again and again while the listing is made. */
  readonly isAwaited: () => boolean;
  /** Resolves when the client may have left: the listing is then sent as it is made, which shows it. */
  readonly ended: Promise<'ended'> | null;
  /** Whose share of the room for listings it takes; null for those who have none of their own. */
  readonly holder: string | null;
  /** Called once a listing that has a readable reply has ended. */
  readonly onStreamed: (listing: StreamedListing) => void;
}

/** How a listing that was sent as it was made came to its end; its status was 200 either way. */
interface StreamedListing {
  readonly outcome: 'ok' | 'io_error';
  readonly entries: number;
}

/** Below this a listing goes out as one JSON reply; above, as it is made. */
const wholeListingLength = 64 * 1024;

/** What one holds, about: two slices of the file that is hashed, and the names in the directories on the way to it. */
const listingBytes = 1024 * 1024;
/** Limit for all listings that go on: 64. */
const listingsBytes = 64 * listingBytes;

/** The listings of one export root that go on. */
export class Listings {
  readonly #options: OperatorPlaneOptions;
  readonly #room = new ByteBudget(listingsBytes);

  constructor(options: OperatorPlaneOptions) {
    this.#options = options;
  }

  /** The listing document; one too long to wait for has a readable reply. Returns null while too many others are being made. */
  async list(request: ListingRequest): Promise<PlaneAnswer | null> {
    const { holder } = request;
    if (!this.#room.take(listingBytes, holder)) return null;
    const end = (): void => this.#room.giveBack(listingBytes, holder);
    let answer: PlaneAnswer | null = null;
    try {
      answer = await this.#list(request);
    } finally {
      if (answer?.reply.kind === 'readable') answer.reply.source.once('close', end);
      else end();
    }
    return answer;
  }

  async #list({ isAwaited, ended, onStreamed }: ListingRequest): Promise<PlaneAnswer> {
    const { files: exported, achieved, generation, reader } = this.#options;
    const root = reader.root.resolve();
    if (root.kind === 'refused') return refused(root.code);
    const head = {
      root: exported.root,
      mode: 'read-only',
      max_bytes: exported.max_bytes,
      generation: generation(),
      containment_achieved: achieved,
    } as const;
    const tally: Tally = { entries: 0, failed: false };
    const isHidden = (real: string): boolean => reader.root.isHidden(real);
    const files =
      root.kind === 'absent' ? nothing() : counted(listFiles({ root: root.real, isHidden, isAwaited }), tally);
    try {
      const reply = await listingReply(encodeListing(head, files), ended);
      if (reply.kind !== 'readable') return { outcome: 'ok', reply, entries: tally.entries };
      reply.source.once('close', () => {
        onStreamed({ outcome: tally.failed ? 'io_error' : 'ok', entries: tally.entries });
      });
      return { outcome: 'ok', reply };
    } catch (error) {
      return ioError(error);
    }
  }
}

async function listingReply(pieces: AsyncGenerator<string>, ended: Promise<'ended'> | null): Promise<Reply> {
  let text = '';
  while (text.length < wholeListingLength) {
    const next = pieces.next();
    const piece = await (ended === null ? next : Promise.race([next, ended]));
    if (piece === 'ended') {
      // It is waited for once somebody reads the reply, which may be never.
      next.catch(() => undefined);
      return streamed(continued(text, pieces, next));
    }
    if (piece.done === true) return { kind: 'json', status: 200, text };
    text += piece.value;
  }
  return streamed(continued(text, pieces));
}

function streamed(pieces: AsyncGenerator<string>): Reply {
  const source = Readable.from(pieces);
  return { kind: 'readable', status: 200, contentType: 'application/json', length: null, source, empty: ' ' };
}

async function* continued(
  first: string,
  rest: AsyncGenerator<string>,
  next?: Promise<IteratorResult<string>>,
): AsyncGenerator<string> {
  yield first;
  const piece = await next;
  if (piece?.done === false) yield piece.value;
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
    // A reader that leaves ends a listing well.
    tally.failed = !(error instanceof UnfinishedRead);
    throw error;
  }
}

async function* nothing(): AsyncGenerator<never> {}
