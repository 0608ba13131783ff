/** Names the files of a project that no agent is shown: secrets of its programs, keys, and what `svc` keeps. */

import { sep } from 'node:path';

/**
 * Whether an entry of this name is masked in a folder that an agent is given as its project, with everything below it: `.env` and whatever
 * begins so, in any case, `.ssh` and `.svc`.
 */
export function isMaskedName(name: string): boolean {
  return /^\.env/i.test(name) || name === '.ssh' || name === '.svc';
}

/** In a workdir, what `svc` keeps there, and what of it an agent is shown: its home, and the workdirs of children (D2 "Child directory"). */
export const stateName = '.svc';
export const shownOfState: ReadonlySet<string> = new Set(['home', 'children']);

/** The folder of keys, or of what `svc` keeps, that a path is or lies in: no agent gets it, whatever names it. Undefined for any other. */
export function closedFolderAround(path: string): string | undefined {
  return path.split(sep).find((name) => name === '.ssh' || name === stateName);
}

/** Whether a name on the way to this path of a workdir, or its own, is masked. The folder of `svc` is not, for what is shown of it. */
export function isMaskedInWorkdir(path: string): boolean {
  const names = path.split('/');
  const isShown = names[0] === stateName && (names[1] === undefined || shownOfState.has(names[1]));
  return (isShown ? names.slice(2) : names).some(isMaskedName);
}
