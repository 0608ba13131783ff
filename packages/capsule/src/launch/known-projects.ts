/** Remembers which projects of this user have an `svc.lock`, so that nothing is removed from the user's store that one of them needs. */

import { existsSync } from 'node:fs';

import { lockPath } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RememberedList } from './remembered-list.ts';

/** The folders of the projects that an install or a run has recorded; null where none ever has, or the file is not what it should be. */
export function knownProjects(home: string): readonly string[] | null {
  return projectsOf(home).read();
}

/** Records a folder that has a `svc.lock`. Returns the warning `W-REG-032` where that cannot be written, else null. */
export async function rememberProject(home: string, lockDirectory: string): Promise<Diagnostic | null> {
  if (!existsSync(lockPath(lockDirectory))) return null;
  try {
    // Those whose `svc.lock` is gone are forgotten.
    await projectsOf(home).remember(lockDirectory, (each) => existsSync(lockPath(each)));
    return null;
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return new Diagnostic('W-REG-032', `this project is not recorded for svc prune --artifacts -g: ${error.message}`, {
      hint: 'all else is done; once that file can be written, svc install records it',
      cause: error,
    });
  }
}

function projectsOf(home: string): RememberedList {
  return new RememberedList(home, 'projects');
}
