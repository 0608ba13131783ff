/** Opens a folder of the person who runs svc for a session, with what git needs there: `project/` of its workdir. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { mappedProcess, ownPlaces } from '@svc/sandbox/own-process.ts';
import type { OwnPlace } from '@svc/sandbox/own-places.ts';
import { openProjectFolder, type OpenedFolder } from '@svc/sandbox/project-folder.ts';
import type { GitOfFolder } from './git-of-folder.ts';
import { GivenFolder, type GivenFolderParts } from './given-project.ts';

export interface FolderToOpen {
  /** Links resolved. */
  readonly path: string;
  readonly writable: boolean;
  /** Whether programs that may write leave what git runs as it is. */
  readonly keepsGit: boolean;
  /** Paths below the folder that are masked beside the usual names. */
  readonly masks: readonly string[];
  /** What stays as it is beside `svc` itself. */
  readonly own: readonly OwnPlace[];
  readonly achieved: ContainmentClass;
  readonly hasPrograms: boolean;
  /** Whether git is one of the commands. */
  readonly runsGit: boolean;
  /** Whether it is only reported: nothing is made in it. */
  readonly isReport: boolean;
}

export interface FolderSurroundings {
  readonly packageRoot: string;
  readonly cwd: string;
  readonly home: string;
  readonly env: Environment;
}

export interface OpenGivenFolder {
  readonly project: GivenFolder;
  /** Is null unless git is one of the commands. */
  readonly git: GitOfFolder | null;
}

/** `E-CAP-023` to `E-CAP-025` where the host cannot keep from programs what is masked or kept in it, or `svc` itself. */
export async function openGivenFolder(
  { path, writable, keepsGit, masks, own, achieved, hasPrograms, runsGit, isReport }: FolderToOpen,
  { packageRoot, cwd, home, env }: FolderSurroundings,
): Promise<OpenGivenFolder> {
  const git =
    runsGit && achieved !== 'advisory'
      ? await (await import('./git-of-folder.ts')).gitOfFolder(path, { env, home })
      : null;
  const node = { node: process.execPath, nodeOptions: process.execArgv };
  const open = (access: { readonly writable: boolean; readonly isReport: boolean }): OpenedFolder =>
    openProjectFolder({
      path,
      isWorkdir: false,
      ...access,
      keepsGit,
      masks,
      own: access.writable ? [...ownPlaces(mappedProcess({ packageRoot, ...node, cwd, env })), ...own] : [],
      splits: achieved === 'scoped' && hasPrograms,
      clock: systemClock,
      uid: process.getuid?.() ?? 0,
      ...(git?.found.kind === 'elsewhere' ? { git: git.found.git } : {}),
    });
  const project = new GivenFolder(open({ writable, isReport }), achieved, {
    ...closedGit(git),
    ...(writable ? {} : { openWritable: (isAsked: boolean) => open({ writable: true, isReport: isAsked }) }),
  });
  return { project, git };
}

/** The files beside its manifest that a capsule is made of: an agent that changed one would change what the next session is, and may do. */
export function capsuleFiles(
  { manifest, directory }: Pick<LoadedManifest, 'manifest' | 'directory'>,
  lockDirectory: string,
): readonly OwnPlace[] {
  const { system_prompt_file: prompt, driver } = manifest.inference;
  const script = driver?.config['script'];
  const named = (path: unknown, what: string): readonly OwnPlace[] =>
    typeof path === 'string' && existsSync(resolve(directory, path))
      ? [{ path: realPath(resolve(directory, path)), what }]
      : [];
  return [
    ...manifest.artifacts.flatMap(({ name, source }) => named(source, `from which the capsule takes ${name}`)),
    ...named(prompt, 'which is its system prompt'),
    ...named(script, 'which its driver plays'),
    ...named('task.md', 'which is its task'),
    ...named(join(lockDirectory, 'svc.lock'), 'which its artifacts are held to'),
  ];
}

/** What the scope says of it. */
function closedGit(git: GitOfFolder | null): Pick<GivenFolderParts, 'closedGit'> {
  if (git?.found.kind !== 'closed') return {};
  const { place: path, why } = git.found;
  return { closedGit: { path, why } };
}
