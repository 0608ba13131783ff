/** Makes an artifact of a folder of a GitHub repository that is a standard skill. */

import { tmpdir } from 'node:os';
import { posix } from 'node:path';
import { type Entry, fromRandomAccessReaderPromise } from 'yauzl';

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
interface FetchedFolder {
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
  const from = spellFolder(at);
  const answer = await api.fetchCommit(at.ref);
  const chunks = boundedArchive(answer.body(), `the repository of ${from}`);
  const temporary = await writeTemporary(tmpdir(), chunks, { mode: 0o600, isDurable: false }).finally(() =>
    answer.discard(),
  );
  try {
    const file = await RegularFile.open(temporary.path, from);
    try {
      return skillIn(at, await filesIn(file, at.folder));
    } finally {
      await file.close();
    }
  } finally {
    temporary.close();
  }
}

function skillIn(at: RepositoryFolder, { commit, files }: CommitFiles): FetchedFolder {
  const from = spellFolder(at);
  if (isCommit(at.ref) && at.ref !== commit) {
    throw new Diagnostic('E-REG-002', `the answer for ${from} has the files of the commit ${commit}`);
  }
  if (files.some(({ name }) => name === manifestFile)) {
    throw new Diagnostic('E-ART-004', `${from} has ${manifestFile}: it is no standard skill folder`, {
      hint: 'svc build makes an archive of it, which a release or a registry can have',
    });
  }
  const { name, description, version } = skillOfFiles(from, files);
  const last = at.folder === '.' ? at.repo : at.folder;
  const tagged = at.ref.replace(/^v(?=\d)/, '');
  const isVersion = /^\d+\.\d+\.\d+/.test(tagged) && isExactVersion(tagged);
  const ofCommit = `0.0.0-g${commit.slice(0, 12)}`;
  return {
    ref: {
      name: fittedName(name ?? '') ?? fittedName(posix.basename(last)) ?? 'skill',
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

interface CommitFiles {
  /** 40 hex digits. */
  readonly commit: string;
  readonly files: readonly PackedFile[];
}

/** The files below a folder of an archive that git has made, which has all files in one folder and the commit as its comment (git-archive(1)). */
async function filesIn(file: RegularFile, folder: string): Promise<CommitFiles> {
  try {
    const options = { autoClose: false, decodeStrings: false };
    const zip = await fromRandomAccessReaderPromise(new ArchiveReader(file), file.size, options);
    const commit = Buffer.from(zip.comment as unknown as Uint8Array).toString('latin1');
    if (!isCommit(commit)) throw new Diagnostic('E-ART-001', `the answer for ${file.label} names no commit`);
    if (zip.entryCount > mostEntries) {
      throw new Diagnostic('E-ART-003', `the repository of ${file.label} holds more than ${mostEntries} files`);
    }
    const [entries, links] = [new Map<string, ArchiveEntry>(), new Set<string>()];
    const names = new NameTable();
    let bytes = 0;
    const count = (more: number): void => {
      bytes += more;
      const { mostFiles, mostBytes } = skillLimits;
      if (bytes <= mostBytes && entries.size <= mostFiles) return;
      throw new Diagnostic('E-ART-003', `${file.label} has more than ${mostFiles} files or ${inMebibytes(mostBytes)}`);
    };
    for await (const raw of zip.eachEntry()) {
      const name = nameBelow(raw, folder);
      if (name === null || name.split('/').some((part) => leftOut.has(part))) continue;
      if (isSymbolicLink(raw)) {
        links.add(name);
        raw.externalFileAttributes = regularFile * 0x10000;
      }
      const entry = checkEntry(raw, await zip.readLocalFileHeaderPromise(raw), file.label, names);
      if (entry.kind === 'directory') continue;
      if (name.split('/').length > skillLimits.deepest) {
        throw new Diagnostic('E-ART-003', `${file.label} has folders more than ${skillLimits.deepest} levels deep`);
      }
      entries.set(name, { ...entry, name });
      count(Math.max(entry.size, entry.compressedSize));
    }
    if (entries.size === 0) {
      throw new Diagnostic('E-REG-001', `${file.label} is no folder with files in the commit ${commit}`, {
        hint: 'write the path of the folder from the root of the repository, or . for the root itself',
      });
    }
    const archive = new Archive(file, entries, archiveLimits);
    const read = new Map<string, Buffer>();
    for (const name of entries.keys()) read.set(name, await archive.read(name));
    const files = [...read].map(([name, data]) => {
      if (!links.has(name)) return { name, data };
      const target = linkTarget(name, read, links);
      if (target === null) throw forbiddenEntry(file.label, name, 'is a link to no file of the folder');
      count(target.length);
      return { name, data: target };
    });
    return { commit, files };
  } catch (error) {
    // As in `readArchive`.
    if (!(error instanceof Error) || error.constructor !== Error) throw error;
    throw new Diagnostic('E-ART-001', `the answer for ${file.label} is not a readable zip archive: ${error.message}`);
  }
}

/** The name of an entry below the folder; null for one that lies elsewhere. Names that no archive may have are left for `checkEntry`. */
function nameBelow({ fileNameRaw }: Entry, folder: string): string | null {
  const name = fileNameRaw.toString('utf8');
  const below = name.slice(name.indexOf('/') + 1);
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
