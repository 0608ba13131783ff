/** Opens a folder of the person who runs svc for a session, with what git needs there: `project/` of its workdir. */

import type { Environment } from '@svc/kit/environment.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { mappedProcess, ownPlaces } from '@svc/sandbox/own-process.ts';
import { openProjectFolder } from '@svc/sandbox/project-folder.ts';
import type { GitOfFolder } from './git-of-folder.ts';
import { GivenFolder } from './given-project.ts';

export interface FolderToOpen {
  /** Links resolved. */
  readonly path: string;
  readonly writable: boolean;
  /** Whether programs that may write leave what git runs as it is. */
  readonly keepsGit: boolean;
  /** Paths below the folder that are masked beside the usual names. */
  readonly masks: readonly string[];
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
  { path, writable, keepsGit, masks, achieved, hasPrograms, runsGit, isReport }: FolderToOpen,
  { packageRoot, cwd, home, env }: FolderSurroundings,
): Promise<OpenGivenFolder> {
  const git =
    runsGit && achieved !== 'advisory'
      ? await (await import('./git-of-folder.ts')).gitOfFolder(path, { env, home })
      : null;
  const folder = openProjectFolder({
    path,
    isWorkdir: false,
    writable,
    keepsGit,
    isReport,
    masks,
    own: writable
      ? ownPlaces(mappedProcess({ packageRoot, node: process.execPath, nodeOptions: process.execArgv, cwd, env }))
      : [],
    splits: achieved === 'scoped' && hasPrograms,
    clock: systemClock,
    uid: process.getuid?.() ?? 0,
    ...(git?.found.kind === 'elsewhere' ? { git: git.found.git } : {}),
  });
  return { project: new GivenFolder(folder, achieved, closedGit(git)), git };
}

/** What the scope says of it. */
function closedGit(git: GitOfFolder | null): ConstructorParameters<typeof GivenFolder>[2] {
  if (git?.found.kind !== 'closed') return {};
  const { place: path, why } = git.found;
  return { closedGit: { path, why } };
}
