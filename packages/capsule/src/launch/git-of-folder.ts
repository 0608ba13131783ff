/** Finds what git needs in a folder that an agent is given: the data of the repository, and the name of who commits. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { searchPathOutside } from '@svc/sandbox/contained-environment.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { findGit, type FoundGit } from '@svc/sandbox/git-elsewhere.ts';
import { folderName, refusalOf } from './given-folder.ts';

export interface GitOfFolder {
  readonly found: FoundGit;
  /** Variables of git; none where nobody's name is known. */
  readonly identity: Readonly<Record<string, string>>;
  /** `W-RUN-184` where git does not work. */
  readonly warnings: readonly Diagnostic[];
}

const maxMs = 5000;
const maxBytes = 4096;

/** `path` has its links resolved. The identity is what the person's own git would take there. */
export async function gitOfFolder(
  path: string,
  { env, home }: { readonly env: Environment; readonly home: string },
): Promise<GitOfFolder> {
  const found = findGit(path, { refusalOf: (folder) => refusalOf(folder, home), isOwn: (uid) => isOwn(uid, env) });
  const program = findProgram('git', searchPathOutside(env['PATH'] ?? '', [path]));
  const identity = program.kind === 'found' ? await identityOf(program.path, { path, home, env }) : {};
  return { found, identity, warnings: found.kind === 'closed' ? [notWorking(path, found)] : [] };
}

/** As git judges: root also works for who called `sudo`. */
function isOwn(uid: number, { SUDO_UID: caller }: Environment): boolean {
  const own = process.geteuid?.() ?? uid;
  return uid === own || (own === 0 && /^\d{1,10}$/.test(caller ?? '') && uid === Number(caller));
}

function notWorking(path: string, { place, why }: FoundGit & { kind: 'closed' }): Diagnostic {
  return new Diagnostic('W-RUN-184', `git does not work in ${folderName(path)}: ${quoted(place)} ${why}`, {
    hint: 'the task goes on without; git works in a clone of the repository in a folder of its own',
  });
}

async function identityOf(
  git: string,
  { path, home, env }: { readonly path: string; readonly home: string; readonly env: Environment },
): Promise<Readonly<Record<string, string>>> {
  const variables: Record<string, string> = {};
  for (const role of ['AUTHOR', 'COMMITTER']) {
    // A repository that git refuses does not say who it is for.
    const said = (await asked(git, role, path, env)) ?? (await asked(git, role, home, env));
    const [, name, email] = /^(.*) <([^<>]*)> \d+ [+-]\d{4}\n$/.exec(said ?? '') ?? [];
    if (name === undefined || email === undefined) return {};
    variables[`GIT_${role}_NAME`] = name;
    variables[`GIT_${role}_EMAIL`] = email;
  }
  return variables;
}

/** Returns null where git knows no name. It reads configurations for this, and runs nothing that they name. */
async function asked(git: string, role: string, cwd: string, env: Environment): Promise<string | null> {
  try {
    const options = { cwd, env, timeout: maxMs, maxBuffer: maxBytes };
    return (await promisify(execFile)(git, ['var', `GIT_${role}_IDENT`], options)).stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
