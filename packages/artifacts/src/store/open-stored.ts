/** Opens an archive of a store and checks it against its hash. */

import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile, chunksOfFile } from '@svc/kit/files/regular-file.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { type Archive, readArchive } from './archive.ts';
import type { ArtifactManifest } from '../manifest/schema.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import { findStored, type StoredArchive } from './store-layout.ts';
import { type ArtifactKind, readManifest } from './inspect-content.ts';
import type { PackedFile } from './archive-writer.ts';
import { type FoundArtifact, manifestFile, skillFile, standardSkillFile } from './installed-artifact.ts';
import type { Location } from './store-places.ts';

interface OpenedArchive {
  readonly stored: StoredArchive;
  /** Its bytes have the recorded hash; the caller closes its file. */
  readonly archive: Archive;
}

const maxAttempts = 50;
const pauseMs = 10;

/**
 * Opens the variant for the platform, else the generic file, and checks its hash. `E-ART-006` when it is damaged, `E-IO-001`
 * when it is no longer there.
 */
export async function openStored(root: string, ref: ArtifactRef, platform: string): Promise<OpenedArchive> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = findStored(root, ref, platform);
    const file = stored === null ? null : await RegularFile.openIfThere(stored.path);
    if (stored === null || file === null) {
      await pause(pauseMs);
      continue;
    }
    if ((await file.sha256()) === stored.sha256) return { stored, archive: await readOrClose(file) };
    await file.close();
    // A writer takes the record away before it replaces the archive: the same record again means damage, not a replacement.
    if (findStored(root, ref, platform)?.sha256 === stored.sha256) throw damaged(stored);
  }
  throw new Diagnostic('E-IO-001', `cannot read ${spell(ref)} in ${root}: another process replaces or removes it`, {
    hint: 'run the command again',
  });
}

async function readOrClose(file: RegularFile): Promise<Archive> {
  try {
    return await readArchive(file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function damaged(stored: StoredArchive): Diagnostic {
  return new Diagnostic('E-ART-006', `${stored.path} does not have the hash that was recorded with it`, {
    hint: `remove ${dirname(stored.path)} and install ${spell(stored)} again`,
  });
}

/** What a store holds; null for a capsule, which no other artifact can use. */
interface InspectedStored {
  readonly stored: StoredArchive;
  readonly artifact: FoundArtifact | null;
}

/** Looks at what a local store has, its bytes verified (`E-ART-006`). */
export async function inspectStored({ origin, root, stored }: Location, platform: string): Promise<InspectedStored> {
  const opened = await openStored(root, stored, platform);
  const { archive } = opened;
  try {
    const { path, sha256 } = opened.stored;
    const found = await readManifest(archive);
    if (found.kind === 'capsule') return { stored: opened.stored, artifact: null };
    const files = new ArchivedFiles(path, sha256, archive.file.identity);
    const artifact: FoundArtifact = {
      manifest: found.manifest,
      origin,
      location: path,
      platform: opened.stored.platform,
      sha256,
      compiledDir: null,
      read: async (name) => await files.read(name),
      archive: () => files.chunks(),
      ...(await skillOf(archive, files, found.manifest)),
    };
    return { stored: opened.stored, artifact };
  } finally {
    await archive.file.close();
  }
}

/** What an archive holds of a standard skill folder (`FoundArtifact.skill`): `SKILL.md` and all files beside it and `svc.yaml`. Every file is read. */
export async function skillOf(
  archive: Archive,
  files: ArchivedFiles,
  { runtime }: ArtifactManifest,
): Promise<Pick<FoundArtifact, 'skill'>> {
  if (runtime !== 'skill' || !archive.has(standardSkillFile) || archive.has(skillFile)) return {};
  const { skillOfFiles } = await import('./read-skill-folder.ts');
  const { skill } = skillOfFiles(archive.where, await skillFilesIn(archive));
  return { skill: { ...skill, readAll: async () => await files.use(async (again) => await skillFilesIn(again)) } };
}

async function skillFilesIn(archive: Archive): Promise<readonly PackedFile[]> {
  const packed: PackedFile[] = [];
  for (const name of archive.files) if (name !== manifestFile) packed.push({ name, data: await archive.read(name) });
  return packed;
}

/** The kind that the manifest in an archive states. Throws what is wrong with the archive or its manifest. */
export async function kindOfArchive(path: string): Promise<ArtifactKind> {
  const file = await RegularFile.open(path);
  try {
    const found = await readManifest(await readArchive(file));
    return found.kind === 'capsule' ? 'capsule' : found.manifest.runtime;
  } finally {
    await file.close();
  }
}

/** An archive by path and hash. It opens the file only to read, and hashes it again only after the file changed. */
export class ArchivedFiles {
  readonly #path: string;
  readonly #sha256: string;
  #verified: string | null;

  /** `verified`: the identity of a file whose bytes have been checked against the hash; null when none has been. */
  constructor(path: string, sha256: string, verified: string | null) {
    this.#path = path;
    this.#sha256 = sha256;
    this.#verified = verified;
  }

  /** One file; `E-ART-006` when the archive no longer has the hash. */
  async read(name: string): Promise<Buffer> {
    return await this.use(async (archive) => await archive.read(name));
  }

  /** Runs `body` with the archive open and verified. */
  async use<T>(body: (archive: Archive) => Promise<T>): Promise<T> {
    const file = await RegularFile.open(this.#path);
    try {
      if (file.identity !== this.#verified) await this.#verify(file);
      return await body(await readArchive(file));
    } finally {
      await file.close();
    }
  }

  chunks(): Chunks {
    return chunksOfFile(this.#path);
  }

  async #verify(file: RegularFile): Promise<void> {
    if ((await file.sha256()) !== this.#sha256) {
      throw new Diagnostic('E-ART-006', `${this.#path} does not have the hash ${this.#sha256} that it had before`, {
        hint: 'run the command again; if it stays, install the artifact again',
      });
    }
    this.#verified = file.identity;
  }
}
