/** Finds the files of a project folder that git runs or obeys, so that an agent that may write in the folder cannot change them. */

import { closeSync, lstatSync, mkdirSync, openSync, type Stats } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { KeptPlace } from './launch/process-grants.ts';

/** Git runs what lies in the first, and programs that the second names. `.git` names the repository where it is a file, as in a worktree. */
const files = ['config', 'config.worktree'] as const;
const directories = ['hooks', 'modules'] as const;

/**
 * The repository of the folder at `path` as mounts keep it: `.git` stays where it is and can be written, but for what is read only in it. None where there is no
 * `.git`. `E-CAP-024` where it cannot be kept: by a host without mounts, and where links lead out of it.
 */
export function keptGit(path: string, hasMounts: boolean): readonly KeptPlace[] {
  const git = statOf(join(path, '.git'));
  if (git === undefined) return [];
  if (!hasMounts) throw unkept(`${path}/.git is only kept from a task that may write beside it in class sealed`);
  if (git.isFile()) return [{ path: '.git', writable: false }];
  if (!git.isDirectory()) throw unkept(`${path}/.git is a link`);
  makeMissing(path);
  const inside = [...files, ...directories].flatMap((name): KeptPlace[] => {
    const place = `.git/${name}`;
    const stat = statOf(join(path, place));
    if (stat === undefined) return [];
    const isRight = files.some((file) => file === name) ? stat.isFile() : stat.isDirectory();
    if (!isRight) throw unkept(`${path}/${place} is ${stat.isSymbolicLink() ? 'a link' : 'not what git makes of it'}`);
    return [{ path: place, writable: false }];
  });
  return [{ path: '.git', writable: true }, ...inside];
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** An absent one is made, as `git init` does: nothing can be mounted where nothing is. Held, so that no link that comes to be there leads elsewhere. */
function makeMissing(path: string): void {
  const folder = HeldDirectory.at(path);
  try {
    const git = folder.enter('.git');
    try {
      unlessThere(() => mkdirSync(git.entry('hooks')));
      unlessThere(() => closeSync(openSync(git.entry('config'), 'wx', 0o644)));
    } finally {
      git.close();
    }
  } catch (error) {
    throw ioFault(error, `${path}/.git cannot be kept as it is`);
  } finally {
    folder.close();
  }
}

function unlessThere(make: () => void): void {
  try {
    make();
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

function unkept(problem: string): Diagnostic {
  return new Diagnostic('E-CAP-024', `what git runs cannot be kept from this task: ${problem}`, {
    hint: '--write-git lets the task change that too: look at .git/hooks and .git/config before your next git command; svc doctor says what the class depends on',
  });
}
