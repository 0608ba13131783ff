/** Remembers which projects of this user have an `svc.lock`, so that nothing is removed from the user's store that one of them needs. */

import { existsSync } from 'node:fs';

import { lockPath } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { placesOf } from './project.ts';
import { RememberedList } from './remembered-list.ts';

/** The folders of the projects that an install has recorded; null where none ever has, or the file is not what it should be. */
export function knownProjects(home: string): readonly string[] | null {
  return projectsOf(home).read();
}

/** Records the project of a manifest where it has a `svc.lock`. What was installed stays where that cannot be written: `W-REG-032`. */
export async function rememberOwn(context: CommandContext, manifest: string): Promise<void> {
  const { manifestDir } = placesOf(context, manifest);
  if (!existsSync(lockPath(manifestDir))) return;
  try {
    // Those whose `svc.lock` is gone are forgotten.
    await projectsOf(context.home).remember(manifestDir, (each) => existsSync(lockPath(each)));
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    context.stderr.write(render([notRecorded(error)], context));
  }
}

function notRecorded(cause: Diagnostic): Diagnostic {
  return new Diagnostic('W-REG-032', `this project is not recorded for svc prune --artifacts -g: ${cause.message}`, {
    hint: 'all else is done; once that file can be written, svc install records it',
    cause,
  });
}

function projectsOf(home: string): RememberedList {
  return new RememberedList(home, 'projects');
}
