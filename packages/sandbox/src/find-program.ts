/** Finds the file that a command name stands for, and says in words why it cannot be started. */

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

import { refusalCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { LaunchRequest } from './launcher.ts';

/** Why a program cannot be run, as clauses for a person; exit codes follow from them. */
export const refusedPrograms = { absent: 'no such command', denied: 'permission denied' } as const;

export type ProgramLookup =
  | { readonly kind: 'found'; readonly path: string }
  /** One of `refusedPrograms`. */
  | { readonly kind: 'refused'; readonly reason: string };

const noSuchCommand: ProgramLookup = { kind: 'refused', reason: refusedPrograms.absent };
const permissionDenied: ProgramLookup = { kind: 'refused', reason: refusedPrograms.denied };

/**
 * The executable file a command name stands for: an absolute path as it is, a bare name on `searchPath`.
 * Relative and empty entries of the search path are passed over, because they name the directory the agent writes to.
 */
export function findProgram(command: string, searchPath: string): ProgramLookup {
  if (command.includes('\0')) return noSuchCommand;
  if (isAbsolute(command)) return judgeFile(command);
  if (command === '' || command.includes('/')) return noSuchCommand;
  let answer = noSuchCommand;
  for (const directory of searchPath.split(delimiter).filter(isAbsolute)) {
    const candidate = judgeFile(join(directory, command));
    if (candidate.kind === 'found') return candidate;
    if (candidate === permissionDenied) answer = permissionDenied;
  }
  return answer;
}

// Asked without waiting: a launch looks for each command in each directory, and the way to another thread and back takes longer.
function judgeFile(path: string): ProgramLookup {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return noSuchCommand;
    if (found.isDirectory()) return permissionDenied;
    accessSync(path, constants.X_OK);
    return { kind: 'found', path };
  } catch (error) {
    // Whatever else keeps a file from being looked at (a loop of links, a component that is a file) means it is not there.
    const code = refusalCode(error);
    return code === 'EACCES' || code === 'EPERM' ? permissionDenied : noSuchCommand;
  }
}

/** What no program could be started with; null when there is nothing of it. */
export function malformedRequest({ args, env }: LaunchRequest): string | null {
  if (args.some((arg) => arg.includes('\0'))) return 'an argument holds a NUL character';
  const variables = Object.entries(env);
  if (variables.some(([name, value]) => `${name}${value}`.includes('\0'))) {
    return 'an environment variable holds a NUL character';
  }
  return null;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: refusedPrograms.absent,
  EACCES: refusedPrograms.denied,
  EPERM: refusedPrograms.denied,
  E2BIG: 'the arguments are too long',
  ENOMEM: 'the host is out of memory',
  EAGAIN: 'the host allows no more processes',
  EMFILE: 'no more files can be opened',
  ENFILE: 'no more files can be opened',
  ETXTBSY: 'the file is open for writing',
  ELOOP: 'too many symbolic links',
};

/** What keeps a program from starting, as a clause for a person, by the name of the system's error. */
export function refusalOfError(code: string): string {
  return reasons[code] ?? `the system answered ${code}`;
}
