/** Compares paths below the folder of a project, each in one spelling. */

import { normalizeWorkdirPath } from './workdir-path.ts';

/** How many paths `capabilities.project.mask` lists at most: a folder has 256 masked places together. */
export const maxMasks = 64;
const maxPath = 4096;

/** As `normalizeWorkdirPath`: below the folder that `capabilities.project` names, or that of its manifest. */
export function normalizeProjectPath(path: string): string | undefined {
  return path.length > maxPath ? undefined : normalizeWorkdirPath(path);
}
