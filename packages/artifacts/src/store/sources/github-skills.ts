/** Finds the standard skills of a GitHub repository, wherever they lie in it. */

import { posix } from 'node:path';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { parseArtifactPlace, type RepositoryFolder, spellFolder } from '../../manifest/artifact-place.ts';
import { inMebibytes } from '../archive-entry.ts';
import { manifestFile, standardSkillFile } from '../installed-artifact.ts';
import { skillOfFiles } from '../read-skill-folder.ts';
import { listed, refuse } from '../resolve.ts';
import { leftOut, skillLimits } from '../skill-folder.ts';
import {
  type FetchedFolder,
  FolderFiles,
  nameOfSkill,
  type OpenedCommit,
  pathOf,
  skillIn,
  withCommit,
} from './github-folder.ts';
import type { GithubApi } from './github-source.ts';

/** So many skills are looked at: each is a tool of a model. */
const mostSkills = 128;
/** Several times what public collections have. */
const mostBytesOfAll = 4 * skillLimits.mostBytes;

/** A repository as it is at a tag, a branch or a commit. */
export type RepositoryAt = Omit<RepositoryFolder, 'folder'>;

/** A skill of a repository, or why it cannot be taken. */
export type SkillOfRepository = { readonly at: RepositoryFolder } & (
  | { readonly name: string; readonly description: string }
  | { readonly fault: Diagnostic }
);

/** The first 128 skills of a repository by their folders, of each of which only `SKILL.md` is read, and how many more it has. Throws as `fetchFolder` does. */
export async function listSkills(
  repository: RepositoryAt,
  api: GithubApi,
): Promise<{ readonly skills: readonly SkillOfRepository[]; readonly more: number }> {
  return await withCommit(spelled(repository), repository.ref, api, async (opened) => {
    const folders = await foldersIn(opened);
    const places = folders
      .slice(0, mostSkills)
      .map((folder) => ({ repo: repository.repo, ref: repository.ref, folder }));
    const taken = await offered(opened, places, (path, { folder }) => path === fileIn(folder, standardSkillFile));
    const skills: SkillOfRepository[] = [];
    for (const { at, files } of taken) {
      try {
        if (parseArtifactPlace(spellFolder(at)) === null) throw unnamed(at);
        const { name, description } = skillOfFiles(spellFolder(at), await files.read(opened.commit));
        skills.push({ at, name: nameOfSkill(at, name), description });
      } catch (error) {
        skills.push({ at, fault: firstFault(error) });
      }
    }
    return { skills, more: folders.length - places.length };
  });
}

/**
 * All skills of a repository, with one download. Throws what is wrong with any of them, all at once, and `E-ART-003` for more than 128 skills or 256 MiB of
 * them; else as `fetchFolder` does.
 */
export async function fetchSkills(
  repository: RepositoryAt,
  api: GithubApi,
): Promise<readonly (FetchedFolder & { readonly at: RepositoryFolder })[]> {
  const from = spelled(repository);
  return await withCommit(from, repository.ref, api, async (opened) => {
    const places = (await foldersIn(opened)).map((folder) => ({ repo: repository.repo, ref: repository.ref, folder }));
    if (places.length > mostSkills) {
      throw new Diagnostic(
        'E-ART-003',
        `${from} has ${places.length} skills, and a capsule has at most ${mostSkills}`,
        {
          hint: `svc add one by one, such as ${places.slice(0, 1).map(spellFolder).join()}`,
        },
      );
    }
    const taken = await offered(opened, places, () => true);
    const faults: Diagnostic[] = [];
    const found: (FetchedFolder & { readonly at: RepositoryFolder })[] = [];
    for (const { at, files } of taken) {
      try {
        if (parseArtifactPlace(spellFolder(at)) === null) throw unnamed(at);
        found.push({ at, ...skillIn(at, opened.commit, await files.read(opened.commit)) });
      } catch (error) {
        faults.push(...allFaults(error));
      }
    }
    refuse(faults);
    return found;
  });
}

function spelled({ repo, ref }: RepositoryAt): string {
  return `github:${repo}@${ref}`;
}

/** The folders that have a `SKILL.md` and no `svc.yaml`, sorted. */
async function foldersIn({ entries }: OpenedCommit): Promise<readonly string[]> {
  const [skills, others] = [new Set<string>(), new Set<string>()];
  for await (const raw of entries()) {
    const path = pathOf(raw);
    const [folder, name] = [posix.dirname(path), posix.basename(path)];
    if (folder.split('/').some((part) => leftOut.has(part))) continue;
    if (name === standardSkillFile) skills.add(folder);
    if (name === manifestFile) others.add(folder);
  }
  return [...skills].filter((folder) => !others.has(folder)).sort();
}

function fileIn(folder: string, name: string): string {
  return folder === '.' ? name : `${folder}/${name}`;
}

interface OfferedFolder {
  readonly at: RepositoryFolder;
  readonly files: FolderFiles;
}

/** These folders with the entries of the archive that are `wanted` of them. */
async function offered(
  opened: OpenedCommit,
  places: readonly RepositoryFolder[],
  wanted: (path: string, at: RepositoryFolder) => boolean,
): Promise<readonly OfferedFolder[]> {
  const folders = new Map(
    places.map((at) => [at.folder, { at, files: new FolderFiles(at.folder, opened.file, spellFolder(at)) }]),
  );
  let bytes = 0;
  for await (const raw of opened.entries()) {
    const path = pathOf(raw);
    for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
      const found = folders.get(folder);
      if (found !== undefined && wanted(path, found.at)) {
        bytes -= found.files.bytes;
        await found.files.offer(raw, opened);
        bytes += found.files.bytes;
      }
      if (folder === '.' || folder === '/') break;
    }
    if (bytes <= mostBytesOfAll) continue;
    throw new Diagnostic(
      'E-ART-003',
      `the skills of ${opened.file.label} have more than ${inMebibytes(mostBytesOfAll)}`,
    );
  }
  return [...folders.values()];
}

/** A path with blanks, or one that is too long. */
function unnamed({ folder }: RepositoryFolder): Diagnostic {
  return new Diagnostic('E-ART-008', `the path ${quoted(folder)} cannot be written behind "#"`, {
    hint: 'svc add each of the other skills by itself',
  });
}

function firstFault(error: unknown): Diagnostic {
  const [first] = allFaults(error);
  if (first === undefined) throw error;
  return first;
}

/** Throws what is no fault of a skill. */
function allFaults(error: unknown): readonly Diagnostic[] {
  if (error instanceof Diagnostic || error instanceof DiagnosticList) return listed(error);
  throw error;
}
