/** Remembers which projects of this user have an `svc.lock`, so that nothing is removed from the user's store that one of them needs. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { withGuard } from '@svc/kit/files/file-guard.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { asStrings, parseJsonObject } from '@svc/protocol/json-object.ts';
import { lockPath } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from './command-context.ts';
import { placesOf } from './project.ts';
import { render } from './render-failure.ts';

const fileVersion = 1;
const mostProjects = 1000;

function projectsFile(home: string): string {
  return join(home, '.svc', 'projects.json');
}

/** The folders of the projects that an install has recorded; null where none ever has, or the file is not what it should be. */
export function knownProjects(home: string): readonly string[] | null {
  const text = readTextIfThere(projectsFile(home));
  if (text === null) return null;
  const { projects_version: version, projects } = parseJsonObject(text) ?? {};
  return version === fileVersion ? asStrings(projects) : null;
}

/** Records the project of a manifest where it has a `svc.lock`. What was installed stays where that cannot be written: `W-REG-032`. */
export async function rememberOwn(context: CommandContext, manifest: string): Promise<void> {
  const { manifestDir } = placesOf(context, manifest);
  if (!existsSync(lockPath(manifestDir))) return;
  try {
    await remember(context.home, manifestDir);
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

/** The newest first; those whose `svc.lock` is gone are forgotten. `E-IO-001` when that cannot be written. */
async function remember(home: string, directory: string): Promise<void> {
  const path = projectsFile(home);
  if (knownProjects(home)?.includes(directory) === true) return;
  await makeDirectory(join(home, '.svc'));
  await withGuard(path, async () => {
    const before = (knownProjects(home) ?? []).filter((each) => each !== directory && existsSync(lockPath(each)));
    const projects = [directory, ...before].slice(0, mostProjects);
    const text = `${JSON.stringify({ projects_version: fileVersion, projects }, null, 2)}\n`;
    await replaceFile(path, [Buffer.from(text)], { mode: 0o600 });
  });
}
