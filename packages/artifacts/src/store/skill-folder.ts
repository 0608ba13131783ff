/** Finds the files of a standard skill folder, and makes an artifact of what is known of it. Starts load this, and nothing that reads a file. */

import { type BigIntStats, existsSync, lstatSync, readdirSync, statSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import type { DirectoryContent } from './directory-content.ts';
import { type FoundArtifact, manifestFile, type SkillFolder, standardSkillFile } from './installed-artifact.ts';

/** The folders of public skills have at most some hundred files, and 6 MiB. */
export const skillLimits = { mostFiles: 2000, mostBytes: 64 * 1024 * 1024, deepest: 16 } as const;
const { mostFiles, mostBytes, deepest } = skillLimits;

/** What tools leave in a folder that is worked on. */
export const leftOut: ReadonlySet<string> = new Set(['.git', 'node_modules', '__pycache__']);

/** Whether a folder is a standard skill: one with `svc.yaml` is an artifact of ours, whatever else is in it. */
export function isSkillFolder(directory: string): boolean {
  return existsSync(`${directory}/${standardSkillFile}`) && !existsSync(`${directory}/${manifestFile}`);
}

/**
 * A file or folder as it stood when it was looked at: two equal texts are the same one, unless somebody changed it in the same moment. The name of a folder
 * ends with a slash; that of the whole is empty.
 */
export type FilePrint = readonly [name: string, state: string];

/**
 * The files of a skill folder, sorted, with what links lead to, and the folders that they lie in. `E-ART-002` for a link to a folder and for what is no file,
 * `E-ART-003` for more than 2,000 files or 16 levels. Opens no file.
 */
export function printsOf(directory: string): readonly FilePrint[] {
  const prints: FilePrint[] = [];
  let files = 0;
  const count = (): void => {
    if (files <= mostFiles && prints.length - files <= mostFiles) return;
    throw new Diagnostic('E-ART-003', `${directory} has more than ${mostFiles} files, or as many folders`);
  };
  const look = (below: string, depth: number): void => {
    if (depth > deepest) throw new Diagnostic('E-ART-003', `${directory} has folders more than ${deepest} levels deep`);
    // Before it is listed: what comes meanwhile changes it.
    prints.push([below, folderState(`${directory}/${below}`, below === '')]);
    count();
    const entries = readdirSync(`${directory}/${below}`, { withFileTypes: true });
    for (const { name } of entries.sort(byName)) {
      if (leftOut.has(name)) continue;
      const whole = `${directory}/${below}${name}`;
      const found = lstatSync(whole, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) continue;
      if (found.isDirectory()) {
        look(`${below}${name}/`, depth + 1);
        continue;
      }
      prints.push([`${below}${name}`, fileState(whole, found)]);
      files += 1;
      count();
    }
  };
  try {
    look('', 1);
  } catch (error) {
    if (error instanceof Diagnostic || errorCode(error) === undefined) throw error;
    throw ioFault(error, `cannot read ${directory}`);
  }
  return prints;
}

/** Whether all in a folder stands as in these prints. Lists no folder: one that gets, loses or renames a file has other times. */
export function hasPrints(directory: string, prints: readonly FilePrint[]): boolean {
  try {
    return prints.every(([name, state]) => {
      const path = `${directory}/${name}`;
      if (isFolder(name)) return folderState(path, name === '') === state;
      return stateOf(statSync(path, { bigint: true })) === state;
    });
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}

function isFolder(name: string): boolean {
  return name === '' || name.endsWith('/');
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}

function fileState(path: string, found: BigIntStats): string {
  const isLink = found.isSymbolicLink();
  const file = isLink ? statSync(path, { bigint: true, throwIfNoEntry: false }) : found;
  if (file?.isFile() === true) return stateOf(file);
  const what = isLink ? 'is a link to no file' : 'is no file';
  throw new Diagnostic('E-ART-002', `${path} ${what}`, { hint: 'a skill folder holds files and folders' });
}

/** A link may lead to the folder of a skill, and to none inside of it. */
function folderState(path: string, isWhole: boolean): string {
  return stateOf(isWhole ? statSync(path, { bigint: true }) : lstatSync(path.slice(0, -1), { bigint: true }));
}

function stateOf({ mode, dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [mode, dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** What is known of a skill folder beside its files. */
export interface SkillFacts {
  readonly ref: ArtifactRef;
  readonly description: string;
  readonly sha256: string;
  readonly skill: Omit<SkillFolder, 'readAll'>;
}

/** A skill folder as an artifact. Its files are read when they are asked for, and have to make the same archive then: `E-ART-006`. */
export function foundSkill(directory: string, { ref, description, sha256, skill }: SkillFacts): FoundArtifact {
  const again = async (): Promise<DirectoryContent> => {
    const content = await contentOf(directory);
    if ((await content.sha256()) === sha256) return content;
    throw new Diagnostic('E-ART-006', `${directory} has changed since the session began`, {
      hint: 'svc install accepts the change for the next one',
    });
  };
  return {
    manifest: { ...ref, runtime: 'skill', implementation: 'wasm', description, tags: [] },
    origin: 'source',
    location: directory,
    platform: null,
    sha256,
    compiledDir: null,
    read: async (file) => await (await again()).read(file),
    archive: async function* () {
      const { packArchive } = await import('./archive-writer.ts');
      yield* packArchive((await again()).files);
    },
    skill: { ...skill, readAll: async () => (await again()).files },
  };
}

/** All files of the folder, which are at most 64 MiB (`E-ART-003`). */
export async function contentOf(directory: string): Promise<DirectoryContent> {
  const { DirectoryContent } = await import('./directory-content.ts');
  const content = new DirectoryContent(directory, mostBytes);
  for (const [name] of printsOf(directory)) if (!isFolder(name)) await content.include(name);
  return content;
}
