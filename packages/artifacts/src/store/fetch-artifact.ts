import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { tap } from './archive-writer.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { FetchedArchive, FetchObserver } from './artifact-source.ts';
import type { LockedArtifact } from './lockfile.ts';
import { type PutArchive, putArchive } from './store-put.ts';

export interface Receipt {
  /** The store that takes it in. */
  readonly root: string;
  /** What the project is held to; what comes must agree with it. Null when there is no such file, or the project has no part in this. */
  readonly lock: readonly LockedArtifact[] | null;
  /** Takes nothing that the lock does not record. */
  readonly isFrozen: boolean;
  readonly observer: FetchObserver | undefined;
}

/** What a download is called in messages, and what it has to be. */
export interface Download {
  readonly source: string;
  /** As observers are told of it: the artifact as it is spelt, or the name of a file. */
  readonly what: string;
  /** Absent where the archive itself says what it is. */
  readonly expected?: ArtifactRef;
}

/**
 * Takes a download into a store and lets go of its connection. Throws before anything is stored: `E-REG-002` when the bytes are not what
 * the source announced, `E-REG-005` when they are not what `svc.lock` records.
 */
export async function receive(fetched: FetchedArchive, download: Download, receipt: Receipt): Promise<PutArchive> {
  const { source, what, expected } = download;
  const { root, observer } = receipt;
  const { platform, sha256, size, bytes } = fetched;
  let isStored = false;
  observer?.started(what, size);
  try {
    // Known before a byte of it is read, where the source announces a hash.
    if (sha256 !== null && expected !== undefined) holdToLock({ ...expected, platform, sha256 }, download, receipt);
    const stored = await putArchive({
      root,
      chunks: tap(bytes, (chunk) => observer?.received(what, chunk.length)),
      platform,
      from: source,
      ...(expected === undefined ? {} : { expected }),
      ...(sha256 === null ? {} : { sha256 }),
      check: (found) => holdToLock(found, download, receipt),
    });
    isStored = true;
    return stored;
  } finally {
    fetched.discard();
    observer?.ended(what, { source, isStored });
  }
}

function holdToLock(found: LockedArtifact, { source }: Download, { lock, isFrozen }: Receipt): void {
  const held = lock?.find(
    ({ name, version, platform }) => name === found.name && version === found.version && platform === found.platform,
  );
  if (held?.sha256 === found.sha256) return;
  const variant = found.platform === null ? '' : ` for ${found.platform}`;
  if (held !== undefined) {
    const message = `${source} serves ${spell(found)}${variant} with sha256 ${found.sha256}, but svc.lock records ${held.sha256}`;
    throw new Diagnostic('E-REG-005', message, {
      hint: 'a published version never changes: find out why this one did; to accept it, remove its entry from svc.lock and install it again',
    });
  }
  if (!isFrozen) return;
  throw new Diagnostic('E-REG-005', `svc.lock does not record ${spell(found)}${variant}`, {
    hint: 'run svc install without --frozen and commit svc.lock',
  });
}
