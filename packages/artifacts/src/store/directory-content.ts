/** Reads the files of an artifact from the folder that it is developed in. */

import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join, posix, sep } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import type { CapsuleManifest } from '../manifest/schema.ts';
import { archiveLimits } from './archive-entry.ts';
import { hashOfArchive, type PackedFile } from './archive-writer.ts';
import {
  componentFile,
  componentSource,
  readArtifactManifest,
  requiredFile,
  type ArtifactContent,
} from './inspect-content.ts';
import { manifestFile } from './installed-artifact.ts';

/**
 * The declared files of an artifact's directory, each read once, so that what is checked, hashed, packed and run is the same.
 * Other files of the directory are left alone.
 */
export class DirectoryContent implements ArtifactContent {
  readonly where: string;
  readonly #files = new Map<string, Buffer>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(directory: string, maxBytes: number = archiveLimits.maxUnpackedBytes) {
    this.where = directory;
    this.#maxBytes = maxBytes;
  }

  get files(): PackedFile[] {
    return [...this.#files].map(([name, data]) => ({ name, data }));
  }

  /** Takes in one file when it is there. A link may lead to another place inside the directory, never out of it. */
  async include(name: string): Promise<void> {
    const normal = posix.normalize(name);
    if (this.#files.has(normal)) return;
    const path = await this.#inside(normal);
    if (path === null) return;
    const file = await RegularFile.open(path, join(this.where, normal));
    try {
      this.#bytes += file.size;
      if (this.#bytes > this.#maxBytes) throw tooLarge(this.where, this.#maxBytes);
      const data = await file.readAt(0, file.size);
      if (data === null) throw new Diagnostic('E-IO-001', `cannot read ${file.label}: it became shorter meanwhile`);
      this.#files.set(normal, data);
    } finally {
      await file.close();
    }
  }

  has(name: string): boolean {
    return this.#files.has(name);
  }

  async read(name: string): Promise<Buffer> {
    const data = this.#files.get(name);
    if (data === undefined) throw new Diagnostic('E-ART-004', `${this.where} holds no file ${quoted(name)}`);
    return data;
  }

  async readStart(name: string, maxBytes: number): Promise<Buffer> {
    return (await this.read(name)).subarray(0, maxBytes);
  }

  async readText(name: string): Promise<string> {
    const data = await this.read(name);
    if (data.length > archiveLimits.maxTextBytes) throw tooLarge(join(this.where, name), archiveLimits.maxTextBytes);
    return data.toString('utf8');
  }

  /** The hash of the archive that these files make. */
  async sha256(): Promise<string> {
    return await hashOfArchive(this.files);
  }

  /** Where a file really is; null when it is not there. */
  async #inside(name: string): Promise<string | null> {
    const path = join(this.where, name);
    try {
      const root = await realpath(this.where);
      const target = await realpath(path).catch(nullUnlessThere);
      if (target === null || target.startsWith(root.endsWith(sep) ? root : root + sep)) return target;
    } catch (error) {
      throw ioFault(error, `cannot read ${path}`);
    }
    throw new Diagnostic('E-ART-002', `${path} lies outside the directory of the artifact`);
  }
}

function nullUnlessThere(error: unknown): null {
  if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
  throw error;
}

/** The files of a tool, driver, hook or skill in a directory: its manifest and the file it is about. `E-ART-004` for a component that is still to be built. */
export async function readArtifactDirectory(directory: string): Promise<DirectoryContent> {
  const content = new DirectoryContent(directory);
  await content.include(manifestFile);
  const file = requiredFile(await readArtifactManifest(content));
  if (file !== null) await content.include(file);
  if (file === componentFile && !content.has(file)) {
    const hint = existsSync(join(directory, componentSource))
      ? `svc build ${directory} makes it of ${componentSource}`
      : `sh ${join(directory, buildScript)} makes it`;
    if ([componentSource, buildScript].some((name) => existsSync(join(directory, name))))
      throw new Diagnostic('E-ART-004', `${directory} has no ${componentFile} yet`, { hint });
  }
  return content;
}

/** As `svc new` writes it for a compiler that is not ours. */
const buildScript = 'build.sh';

/** The files of a capsule in a directory: its manifest, its first task and the files that its manifest names (docs/cli.md "svc build"). */
export async function readCapsuleDirectory(directory: string, manifest: CapsuleManifest): Promise<DirectoryContent> {
  const content = new DirectoryContent(directory);
  await content.include(manifestFile);
  await content.include('task.md');
  const { system_prompt_file: prompt, driver } = manifest.inference;
  const script = driver?.config['script'];
  for (const named of [prompt, script]) {
    if (typeof named !== 'string') continue;
    await content.include(named);
    if (!content.has(posix.normalize(named))) {
      throw new Diagnostic('E-ART-004', `${directory} has no ${quoted(named)}, which its ${manifestFile} names`);
    }
  }
  return content;
}

function tooLarge(what: string, maxBytes: number): Diagnostic {
  return new Diagnostic('E-ART-003', `${what} is larger than ${maxBytes / (1024 * 1024)} MiB`);
}

/** What a component is built from in the folders that `svc new` makes, with what builds it. */
const sources = [
  [componentSource, 'svc build'],
  ['app.py', 'build.sh'],
  ['tool.c', 'build.sh'],
  ['src/lib.rs', 'build.sh'],
] as const;

/** `W-ART-001` when the source of a component has changed since it was built, by the times of the files. */
export async function staleComponent(content: DirectoryContent): Promise<Diagnostic | null> {
  const { where } = content;
  if (!content.has(componentFile)) return null;
  const built = await lastChange(join(where, componentFile));
  for (const [source, builder] of sources) {
    const changed = await lastChange(join(where, source));
    if (changed === null || built === null || changed <= built) continue;
    return new Diagnostic(
      'W-ART-001',
      `${join(where, componentFile)} is older than ${source} beside it, and is used as it is`,
      { hint: `${builder === 'svc build' ? `svc build ${where}` : join(where, builder)} builds it anew` },
    );
  }
  return null;
}

async function lastChange(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return null;
    throw ioFault(error, `cannot read ${path}`);
  }
}
