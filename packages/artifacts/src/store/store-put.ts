import { createHash } from 'node:crypto';
import { readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readArchive } from './archive.ts';
import { archiveLimits } from './archive-limits.ts';
import { tap } from './archive-writer.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { type Chunks, syncDirectory, type TemporaryFile, writeTemporary } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { type ArtifactKind, checkIdentity, inspectContent, type InspectedContent } from './inspect-content.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { encodeHashFile, readVariant, type StoredArchive, variantPaths, versionDirectory } from './store-layout.ts';
import { encodeMeta } from './stored-meta.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';

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
  /** Looks at what came before it is stored; what it throws refuses it. */
  readonly check?: (found: Omit<StoredArchive, 'path'>) => void;
}

export interface PutArchive extends StoredArchive {
  readonly kind: ArtifactKind;
}

interface Received {
  readonly file: TemporaryFile;
  readonly sha256: string;
  readonly bytes: number;
}

const leftoverAgeMs = 60 * 60 * 1000;

/**
 * Checks an archive whole and takes it into a store, in place of another of the same name, version and platform. A refused
 * archive leaves nothing behind, and a reader at any moment, also after a crash, finds the old one, the new one or none.
 */
export async function putArchive(request: PutRequest): Promise<PutArchive> {
  await makeDirectory(request.root);
  const received = await receive(request);
  const temporary = [received.file];
  try {
    await sweepLeftovers(request.root, received.file.path);
    const content = await inspect(received, request);
    return { ...(await commit({ request, received, content, temporary })), kind: content.kind };
  } catch (error) {
    throw ioFault(error, `cannot write to ${request.root}`);
  } finally {
    for (const file of temporary) file.close();
  }
}

async function receive(request: PutRequest): Promise<Received> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await writeTemporary(
    request.root,
    tap(request.chunks, (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
      if (bytes > archiveLimits.maxArchiveBytes) {
        throw new Diagnostic('E-ART-003', `${request.from} is larger than 512 MiB`);
      }
    }),
  );
  return { file, sha256: hash.digest('hex'), bytes };
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

interface Commit {
  readonly request: PutRequest;
  readonly received: Received;
  readonly content: InspectedContent;
  /** Collects files that are closed at the end, which removes those that were not kept. */
  readonly temporary: TemporaryFile[];
}

async function commit({ request, received, content, temporary }: Commit): Promise<StoredArchive> {
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
  await withGuard(paths.archive, async () => {
    const present = readVariant(root, content.ref, platform);
    if (present?.sha256 === sha256 && (await hashOf(present.path)) === sha256) return;
    await rm(paths.hash, { force: true });
    received.file.keepAs(paths.archive);
    meta.keepAs(paths.meta);
    hash.keepAs(paths.hash);
    await syncDirectory(versionDirectory(root, content.ref));
  });
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

/** Removes what writers killed more than an hour ago left; ages are told by the clock of the file system itself. */
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
