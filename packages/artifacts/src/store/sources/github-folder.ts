/** Makes an artifact of a folder of a GitHub repository that is a standard skill. */

import { tmpdir } from 'node:os';
import { posix } from 'node:path';
import { type Entry, fromRandomAccessReaderPromise, type LocalFileHeader, type ZipFile } from 'yauzl';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { writeTemporary } from '@svc/kit/files/replace-file.ts';
import { isCommit, type RepositoryFolder, spellFolder } from '../../manifest/artifact-place.ts';
import { fittedName, isExactVersion } from '../../manifest/names.ts';
import { Archive } from '../archive.ts';
import {
  type ArchiveEntry,
  archiveLimits,
  boundedArchive,
  checkEntry,
  forbiddenEntry,
  inMebibytes,
  isSymbolicLink,
  NameTable,
} from '../archive-entry.ts';
import { ArchiveReader } from '../archive-reader.ts';
import { hashOfArchive, packArchive, type PackedFile } from '../archive-writer.ts';
import { type ArtifactRef, spell } from '../artifact-ref.ts';
import { type FetchedArchive, manifestFile } from '../installed-artifact.ts';
import { skillOfFiles } from '../read-skill-folder.ts';
import { leftOut, skillLimits } from '../skill-folder.ts';
import type { GithubApi } from './github-source.ts';

/** Repositories of skills have some hundreds or thousands. */
const mostEntries = 200_000;

const regularFile = 0o100644;

/** The skill in one folder of one commit. */
export interface FetchedFolder {
  /** What an entry of a manifest calls it: the name of its `SKILL.md` or folder, and its version. */
  readonly ref: ArtifactRef;
  /** The same files with an `svc.yaml`, as an archive. `E-REG-005` for a version that stands for another commit. */
  readonly archiveFor: (ref: ArtifactRef) => Promise<FetchedArchive>;
}

/**
 * Fetches the commit that a tag, a branch or its own name leads to now, and reads the files of the folder; nothing else of it is unpacked. Throws
 * `E-REG-001` where the repository has no such commit, and `E-ART-001` to `E-ART-004` for what is no such archive, or no skill.
 */
export async function fetchFolder(at: RepositoryFolder, api: GithubApi): Promise<FetchedFolder> {
  return await withCommit(spellFolder(at), at.ref, api, async (opened) => {
    const found = new FolderFiles(at.folder, opened.file);
    for await (const raw of opened.entries()) await found.offer(raw, opened);
    return skillIn(at, opened.commit, await found.read(opened.commit));
  });
}

/** What an entry calls the skill in a folder whose `SKILL.md` has this name. */
export function nameOfSkill({ repo, folder }: RepositoryFolder, name: string | null): string {
  return fittedName(name ?? '') ?? fittedName(posix.basename(folder === '.' ? repo : folder)) ?? 'skill';
}

/** The archive of a commit that was fetched. */
export interface OpenedCommit {
  /** 40 hex digits. */
  readonly commit: string;
  readonly file: RegularFile;
  readonly headerOf: (raw: Entry) => Promise<LocalFileHeader>;
  /** All entries of the archive, from the first, each time. */
  readonly entries: () => AsyncIterable<Entry>;
}

/**
 * Fetches a commit, and lets `use` look into its archive, which git has made: all files are in one folder, and the commit is its comment (git-archive(1)).
 * Throws as `fetchFolder` does; `from` is for messages.
 */
export async function withCommit<Result>(
  from: string,
  ref: string,
  api: GithubApi,
  use: (opened: OpenedCommit) => Promise<Result>,
): Promise<Result> {
  const answer = await api.fetchCommit(ref);
  const chunks = boundedArchive(answer.body(), `the repository of ${from}`);
  const temporary = await writeTemporary(tmpdir(), chunks, { mode: 0o600, isDurable: false }).finally(() =>
    answer.discard(),
  );
  try {
    const file = await RegularFile.open(temporary.path, from);
    try {
      const open = async (): Promise<ZipFile> =>
        await fromRandomAccessReaderPromise(new ArchiveReader(file), file.size, {
          autoClose: false,
          decodeStrings: false,
        });
      const zip = await open();
      const commit = Buffer.from(zip.comment as unknown as Uint8Array).toString('latin1');
      if (!isCommit(commit)) throw new Diagnostic('E-ART-001', `the answer for ${from} names no commit`);
      if (isCommit(ref) && ref !== commit) {
        throw new Diagnostic('E-REG-002', `the answer for ${from} has the files of the commit ${commit}`);
      }
      if (zip.entryCount > mostEntries) {
        throw new Diagnostic('E-ART-003', `the repository of ${from} holds more than ${mostEntries} files`);
      }
      const entries = async function* (): AsyncGenerator<Entry> {
        yield* (await open()).eachEntry();
      };
      return await use({ commit, file, entries, headerOf: async (raw) => await zip.readLocalFileHeaderPromise(raw) });
    } catch (error) {
      // As in `readArchive`.
      if (!(error instanceof Error) || error.constructor !== Error) throw error;
      throw new Diagnostic('E-ART-001', `the answer for ${from} is not a readable zip archive: ${error.message}`);
    } finally {
      await file.close();
    }
  } finally {
    temporary.close();
  }
}

/** The skill that these files of a commit are. */
export function skillIn(at: RepositoryFolder, commit: string, files: readonly PackedFile[]): FetchedFolder {
  const from = spellFolder(at);
  if (files.some(({ name }) => name === manifestFile)) {
    throw new Diagnostic('E-ART-004', `${from} has ${manifestFile}: it is no standard skill folder`, {
      hint: 'svc build makes an archive of it, which a release or a registry can have',
    });
  }
  const { name, description, version } = skillOfFiles(from, files);
  const tagged = at.ref.replace(/^v(?=\d)/, '');
  const isVersion = /^\d+\.\d+\.\d+/.test(tagged) && isExactVersion(tagged);
  const ofCommit = `0.0.0-g${commit.slice(0, 12)}`;
  return {
    ref: {
      name: nameOfSkill(at, name),
      version: version ?? (isVersion ? tagged : ofCommit),
    },
    archiveFor: async (ref) => {
      if (/^0\.0\.0-g[0-9a-f]{12}$/.test(ref.version) && version === null && ref.version !== ofCommit) {
        throw new Diagnostic('E-REG-005', `${from} is the commit ${commit} now, not that of ${spell(ref)}`, {
          hint: 'find out why it was moved; svc add with the same place takes the commit that it is now',
        });
      }
      const manifest = { name: ref.name, version: version ?? ref.version, runtime: 'skill', description };
      const packed = [{ name: manifestFile, data: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) }, ...files];
      return {
        platform: null,
        sha256: await hashOfArchive(packed),
        size: null,
        bytes: packArchive(packed),
        from: spellFolder({ ...at, ref: commit }),
        discard: () => {},
      };
    },
  };
}

/** Takes the files of one folder out of the archive of a commit. */
export class FolderFiles {
  readonly #folder: string;
  readonly #file: RegularFile;
  readonly #label: string;
  readonly #entries = new Map<string, ArchiveEntry>();
  readonly #links = new Set<string>();
  readonly #names = new NameTable();
  #bytes = 0;

  /** `label` is for messages; that of the file when absent. */
  constructor(folder: string, file: RegularFile, label: string = file.label) {
    this.#folder = folder;
    this.#file = file;
    this.#label = label;
  }

  /** What its files have unpacked, so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes an entry that lies in the folder, and passes over any other. `E-ART-002` for what no archive may have, `E-ART-003` for more than a skill may have. */
  async offer(raw: Entry, { headerOf }: Pick<OpenedCommit, 'headerOf'>): Promise<void> {
    const name = nameBelow(raw, this.#folder);
    if (name === null || name.split('/').some((part) => leftOut.has(part))) return;
    if (isSymbolicLink(raw)) {
      this.#links.add(name);
      raw.externalFileAttributes = regularFile * 0x10000;
    }
    const entry = checkEntry(raw, await headerOf(raw), this.#label, this.#names);
    if (entry.kind === 'directory') return;
    if (name.split('/').length > skillLimits.deepest) {
      throw new Diagnostic('E-ART-003', `${this.#label} has folders more than ${skillLimits.deepest} levels deep`);
    }
    this.#entries.set(name, { ...entry, name });
    this.#count(Math.max(entry.size, entry.compressedSize));
  }

  /** The files, with what links lead to. `E-REG-001` without any. */
  async read(commit: string): Promise<readonly PackedFile[]> {
    if (this.#entries.size === 0) {
      throw new Diagnostic('E-REG-001', `${this.#label} is no folder with files in the commit ${commit}`, {
        hint: 'write the path of the folder from the root of the repository, or . for the root itself',
      });
    }
    const archive = new Archive(this.#file, this.#entries, archiveLimits);
    const read = new Map<string, Buffer>();
    for (const name of this.#entries.keys()) read.set(name, await archive.read(name));
    return [...read].map(([name, data]) => {
      if (!this.#links.has(name)) return { name, data };
      const target = linkTarget(name, read, this.#links);
      if (target === null) throw forbiddenEntry(this.#label, name, 'is a link to no file of the folder');
      this.#count(target.length);
      return { name, data: target };
    });
  }

  #count(more: number): void {
    this.#bytes += more;
    const { mostFiles, mostBytes } = skillLimits;
    if (this.#bytes <= mostBytes && this.#entries.size <= mostFiles) return;
    throw new Diagnostic('E-ART-003', `${this.#label} has more than ${mostFiles} files or ${inMebibytes(mostBytes)}`);
  }
}

/** The path of an entry from the root of the repository. */
export function pathOf({ fileNameRaw }: Pick<Entry, 'fileNameRaw'>): string {
  const name = fileNameRaw.toString('utf8');
  return name.slice(name.indexOf('/') + 1);
}

/** The name of an entry below the folder; null for one that lies elsewhere. Names that no archive may have are left for `checkEntry`. */
function nameBelow(raw: Entry, folder: string): string | null {
  const below = pathOf(raw);
  if (folder === '.') return below === '' ? null : below;
  return below.startsWith(`${folder}/`) && below !== `${folder}/` ? below.slice(folder.length + 1) : null;
}

const mostSteps = 8;

/** The bytes that a chain of links ends at; null where it leads out of the folder, to no file, or on and on. */
function linkTarget(name: string, read: ReadonlyMap<string, Buffer>, links: ReadonlySet<string>): Buffer | null {
  let at = name;
  for (let steps = 0; steps < mostSteps && links.has(at); steps += 1) {
    const target = read.get(at)?.toString('utf8') ?? '';
    if (target.startsWith('/')) return null;
    at = posix.join(posix.dirname(at), target);
  }
  return links.has(at) ? null : (read.get(at) ?? null);
}
