/** Takes archives into a store once they have been checked whole. */

import { createHash } from 'node:crypto';
import { readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { type Chunks, syncDirectory, type TemporaryFile, writeTemporary } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { chunksOfFile, RegularFile } from '@svc/kit/files/regular-file.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { readArchive } from './archive.ts';
import { boundedArchive } from './archive-entry.ts';
import { type ArtifactCheck, type FetchedArchive, type FetchObserver, checkIdentity } from './installed-artifact.ts';
import type { LockedArtifact } from './lockfile.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import { type ArtifactKind, inspectContent, type InspectedContent } from './inspect-content.ts';
import { encodeHashFile, readVariant, type StoredArchive, variantPaths, versionDirectory } from './store-layout.ts';
import { addSignatures } from './trust/stored-signatures.ts';
import type { Admission, TrustPlaces } from './trust/admit.ts';
import { encodeSignatures } from './trust/signature-bundle.ts';

export interface PutRequest {
  readonly root: string;
  readonly chunks: Chunks;
  readonly platform: string | null;
  /** Where the bytes come from, for messages and for the record beside the archive. */
  readonly from: string;
  /** What the archive must be; without it, it goes where its own manifest says. */
  readonly expected?: ArtifactRef;
  /** What its source says it hashes to; `E-REG-002` when it does not. */
  readonly sha256?: string;
  /** Called for each piece that arrives. */
  readonly onBytes?: (count: number) => void;
  /** Looks at what came before it is stored; what it throws refuses it. */
  readonly check?: (found: Omit<StoredArchive, 'path'>) => void;
  /** Holds what came to the trust policy before it is stored; absent where it is not asked. What it throws refuses it. */
  readonly admit?: (found: Omit<StoredArchive, 'path'>, chunks: () => Chunks) => Promise<Admitted>;
  /** Bundles that are stored beside it. */
  readonly signatures?: readonly string[];
  /** Looks into an artifact that the policy admits before it is stored; what it throws refuses it. */
  readonly checkArtifact?: ArtifactCheck | undefined;
}

/** What the policy says to an archive, and the bundles that are worth keeping beside it. */
export interface Admitted {
  readonly admission: Admission;
  readonly signatures: readonly string[];
}

export interface PutArchive extends StoredArchive {
  readonly kind: ArtifactKind;
  readonly admission: Admission;
}

interface Received {
  readonly file: TemporaryFile;
  readonly sha256: string;
  readonly bytes: number;
  /** Reads them where they lie: they are those that were checked, in a file that no other process knows. */
  readonly again: () => Chunks;
}

const leftoverAgeMs = 60 * 60 * 1000;

/**
 * Checks an archive whole and takes it into a store, in place of another of the same name, version and platform. A refused
 * archive leaves nothing behind, and a reader at any moment, also after a crash, finds the old one, the new one or none.
 */
export async function putArchive(request: PutRequest): Promise<PutArchive> {
  const received = await write(request);
  const temporary = [received.file];
  try {
    await sweepLeftovers(request.root, received.file.path);
    const content = await inspect(received, request);
    const { admission, signatures } = await admitted(received, content, request);
    await checkContent(received, content, request);
    return { ...(await commit({ request, received, content, signatures, temporary })), kind: content.kind, admission };
  } catch (error) {
    throw ioFault(error, `cannot write to ${request.root}`);
  } finally {
    for (const file of temporary) file.close();
  }
}

async function write({ root, chunks, from, onBytes }: PutRequest): Promise<Received> {
  await makeDirectory(root);
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of boundedArchive(chunks, from)) {
      onBytes?.(chunk.length);
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  const file = await writeTemporary(root, counted());
  return { file, sha256: hash.digest('hex'), bytes, again: () => chunksOfFile(file.path) };
}

async function inspect(received: Received, request: PutRequest): Promise<InspectedContent> {
  const { from, expected, sha256, platform, check } = request;
  if (sha256 !== undefined && sha256 !== received.sha256) {
    throw new Diagnostic('E-REG-002', `${from} sent bytes with sha256 ${received.sha256}, not ${sha256}`);
  }
  const file = await RegularFile.open(received.file.path, from);
  try {
    const archive = await readArchive(file);
    await archive.verify();
    const content = await inspectContent(archive);
    if (expected !== undefined) checkIdentity(content.ref, expected, from);
    check?.({ ...content.ref, platform, sha256: received.sha256 });
    return content;
  } finally {
    await file.close();
  }
}

async function admitted(received: Received, content: InspectedContent, request: PutRequest): Promise<Admitted> {
  const { admit, platform, signatures = [] } = request;
  if (admit === undefined) return { admission: { kind: 'unchecked' }, signatures };
  const found = { ...content.ref, platform, sha256: received.sha256 };
  const said = await admit(found, received.again);
  return { ...said, signatures: [...said.signatures, ...signatures] };
}

async function checkContent({ file }: Received, found: InspectedContent, request: PutRequest): Promise<void> {
  const { checkArtifact, from } = request;
  if (found.kind === 'capsule' || checkArtifact === undefined) return;
  const opened = await RegularFile.open(file.path, from);
  try {
    await checkArtifact(found.manifest, await readArchive(opened));
  } finally {
    await opened.close();
  }
}

interface Commit {
  readonly signatures: readonly string[];
  readonly request: PutRequest;
  readonly received: Received;
  readonly content: InspectedContent;
  /** Collects files that are closed at the end, which removes those that were not kept. */
  readonly temporary: TemporaryFile[];
}

async function commit({ request, received, content, signatures, temporary }: Commit): Promise<StoredArchive> {
  const { root, platform, from } = request;
  const { sha256, bytes } = received;
  const paths = variantPaths(root, content.ref, platform);
  const stored: StoredArchive = { ...content.ref, platform, path: paths.archive, sha256 };
  const record = async (text: string): Promise<TemporaryFile> => {
    const file = await writeTemporary(root, [Buffer.from(text)]);
    temporary.push(file);
    return file;
  };

  await makeConfined(root, content.ref);
  // All bytes are on the disk before anything that was there is touched; from here on there are only renames.
  const meta = await record(encodeMeta({ archive: stored, kind: content.kind, bytes, from }));
  const hash = await record(encodeHashFile(sha256, basename(paths.archive)));
  const bundles = signatures.length === 0 ? null : await record(encodeSignatures(signatures));
  await withGuard(paths.archive, async () => {
    const present = readVariant(root, content.ref, platform);
    if (present?.sha256 === sha256 && (await hashOf(present.path)) === sha256) return;
    await rm(paths.hash, { force: true });
    // The signatures that are there are for other bytes.
    await rm(paths.signatures, { force: true });
    received.file.keepAs(paths.archive);
    bundles?.keepAs(paths.signatures);
    meta.keepAs(paths.meta);
    hash.keepAs(paths.hash);
    await syncDirectory(versionDirectory(root, content.ref));
  });
  // Where the same bytes were there already, what signs them may be new.
  await addSignatures(paths.archive, signatures);
  return stored;
}

// A project may come from anywhere: a link planted in its store must not lead a write out of it.
async function makeConfined(root: string, ref: ArtifactRef): Promise<void> {
  const directory = versionDirectory(root, ref);
  await makeDirectory(directory);
  if ((await realpath(directory)) !== versionDirectory(await realpath(root), ref)) {
    throw new Diagnostic('E-IO-001', `cannot store ${spell(ref)}: ${directory} leads elsewhere by a link`);
  }
}

async function hashOf(path: string): Promise<string> {
  const file = await RegularFile.open(path);
  try {
    return await file.sha256();
  } finally {
    await file.close();
  }
}

/** Removes what writers killed more than an hour ago left; ages follow the clock of the file system itself. */
async function sweepLeftovers(root: string, own: string): Promise<void> {
  const { mtimeMs: now } = await stat(own);
  for (const name of await readdir(root)) {
    if (!isTemporaryName(name)) continue;
    const path = join(root, name);
    const leftover = await stat(path).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return null;
      throw error;
    });
    if (leftover !== null && now - leftover.mtimeMs > leftoverAgeMs) await rm(path, { recursive: true, force: true });
  }
}

const metaVersion = 1;

const metaFile = z.object({
  meta_version: z.literal(metaVersion),
  kind: z.enum(['driver', 'tool', 'hook', 'skill', 'capsule']),
});

interface StoredMeta {
  readonly archive: Omit<StoredArchive, 'path'>;
  readonly kind: ArtifactKind;
  readonly bytes: number;
  /** Where the archive came from, for people. */
  readonly from: string;
}

/** The record beside a stored archive, for those who list a store without opening it. */
function encodeMeta({ archive, kind, bytes, from }: StoredMeta): string {
  const { name, version, platform, sha256 } = archive;
  const record = { meta_version: metaVersion, name, version, platform, kind, sha256, bytes, from };
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** The kind such a record names; null when it is not one. */
export function decodeKind(text: string): ArtifactKind | null {
  return metaFile.safeParse(parseJson(text)).data?.kind ?? null;
}

export interface Receipt {
  /** The store that takes it in. */
  readonly root: string;
  /** What the project is held to; what comes must agree with it. Is null when there is no such file, or the project has no part in this. */
  readonly lock: readonly LockedArtifact[] | null;
  /** Takes nothing that the lock does not record. */
  readonly isFrozen: boolean;
  /** Whether what comes may be at another place than the lock records. */
  readonly movesPlace: boolean;
  readonly observer: FetchObserver | undefined;
  /** Whether nothing is used of it: no policy is asked then. */
  readonly inspectsOnly: boolean;
  /** Where the trust policy is that downloads are held to. */
  readonly trust: TrustPlaces;
  readonly checkArtifact: ArtifactCheck | undefined;
}

/** What a download is called in messages, and what it has to be. */
interface Download {
  readonly source: string;
  /** What observers receive: the artifact as it is spelt, or the name of a file. */
  readonly what: string;
  /** Absent where the archive itself says what it is. */
  readonly expected?: ArtifactRef;
  /** The bundles that its source has for it. */
  readonly signatures: (archive: LockedArtifact) => Promise<readonly string[]>;
}

/**
 * Takes a download into a store; the caller lets go of its connection. Throws before anything is stored: `E-REG-002` when the bytes are not what
 * the source announced, `E-REG-005` when they are not what `svc.lock` records, and what the trust policy refuses (`admit`).
 */
export async function receive(fetched: FetchedArchive, download: Download, receipt: Receipt): Promise<PutArchive> {
  try {
    return await receiveOnce(fetched, download, receipt);
  } catch (error) {
    const other = error instanceof Diagnostic ? (fetched.instead?.(error) ?? null) : null;
    if (other === null) throw error;
    try {
      return await receiveOnce(other, download, receipt);
    } finally {
      other.discard();
    }
  }
}

async function receiveOnce(fetched: FetchedArchive, download: Download, receipt: Receipt): Promise<PutArchive> {
  const { source, what, expected } = download;
  const { root, observer } = receipt;
  const { platform, sha256, size, bytes } = fetched;
  const from = fetched.from === undefined ? {} : { from: fetched.from };
  const admit: PutRequest['admit'] = async (found, chunks) => await admitDownload(found, { chunks, download, receipt });
  let isStored = false;
  observer?.started(what, size);
  try {
    // Known before a byte of it is read, where the source announces a hash.
    if (sha256 !== null && expected !== undefined) {
      holdToLock({ ...expected, platform, sha256, ...from }, download, receipt);
    }
    const stored = await putArchive({
      root,
      chunks: bytes,
      onBytes: (count) => observer?.received(what, count),
      platform,
      from: source,
      ...(expected === undefined ? {} : { expected }),
      ...(sha256 === null ? {} : { sha256 }),
      check: (found) => holdToLock({ ...found, ...from }, download, receipt),
      ...(receipt.inspectsOnly ? {} : { admit, checkArtifact: receipt.checkArtifact }),
    });
    isStored = true;
    return stored;
  } finally {
    observer?.ended(what, { source, isStored });
  }
}

interface AdmittedDownload {
  readonly chunks: () => Chunks;
  readonly download: Download;
  readonly receipt: Receipt;
}

/** Bundles that were asked for are kept, also where a rule only warns of them. */
async function admitDownload(
  found: LockedArtifact,
  { chunks, download, receipt }: AdmittedDownload,
): Promise<Admitted> {
  const { admit } = await import('./trust/admit.ts');
  let signatures: readonly string[] = [];
  const asked = async (): Promise<readonly string[]> => (signatures = await download.signatures(found));
  const { sha256 } = found;
  const admission = await admit({ ref: found, sha256, chunks, signatures: asked }, receipt.trust);
  return { admission, signatures };
}

/** `E-REG-005` for an archive of `source` that is not what `svc.lock` records. */
export function holdToLock(
  found: LockedArtifact,
  { source }: Pick<Download, 'source'>,
  { lock, isFrozen, movesPlace }: Pick<Receipt, 'lock' | 'isFrozen' | 'movesPlace'>,
): void {
  const held = lock?.find(
    ({ name, version, platform }) => name === found.name && version === found.version && platform === found.platform,
  );
  if (held?.sha256 === found.sha256) {
    if (!movesPlace) holdToPlace(found, held);
    return;
  }
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

/** A repository of an OCI registry that has the same archive in another document: a writer there has moved the tag. */
function holdToPlace(found: LockedArtifact, { from: recorded }: LockedArtifact): void {
  const { from } = found;
  if (from === undefined || recorded === undefined || from === recorded) return;
  const repository = recorded.slice(0, recorded.lastIndexOf('@'));
  if (from.slice(0, from.lastIndexOf('@')) !== repository) return;
  const [now, before] = [from, recorded].map((place) => place.slice(repository.length + 1));
  throw new Diagnostic('E-REG-005', `${repository} has ${spell(found)} as ${now} now, but svc.lock records ${before}`, {
    hint: 'its tag was moved: find out why; svc install --frozen takes what svc.lock records; to accept the change, remove its entry from svc.lock and install it again',
  });
}
