/** Finds what attempts need of this machine. */

import { realpath } from 'node:fs/promises';
import { delimiter, isAbsolute } from 'node:path';

import { parseProgram } from '@svc/sandbox/closure/elf.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';

/** What attempts need of the host; null where it has none. */
export interface AttemptTools {
  /** A shell, which some attempts are granted. */
  readonly shell: string | null;
  /** The loader that starts the shell. */
  readonly loader: string | null;
  /** A program that no attempt is granted, for the same loader; it prints something when it runs. */
  readonly unlisted: string | null;
  /** The calls of the processor's older modes. */
  readonly olderModes: string | null;
  /** `svc-attempts` with the setuid bit, owned by root. */
  readonly setuidProgram: string | null;
}

/** Each as a person calls it. */
export const toolNames: Readonly<Record<keyof AttemptTools, string>> = {
  shell: 'shell',
  loader: 'loader of the shell',
  unlisted: 'program beside the shell',
  olderModes: 'older mode of the processor',
  setuidProgram: 'setuid program, which svc does not make',
};

interface ToolSearch {
  readonly searchPath: string;
  /** As `process.arch` has it. */
  readonly architecture: string;
  readonly setuidProgram: string | null;
}

/** Looks for what this host has. */
export async function findAttemptTools(search: ToolSearch): Promise<AttemptTools> {
  const searchPath = search.searchPath.split(delimiter).filter(isAbsolute).join(delimiter);
  const shell = await pathOf('sh', searchPath);
  const loader = shell === null ? null : await loaderOf(shell);
  return {
    shell,
    loader,
    unlisted: shell === null || loader === null ? null : await findUnlisted(searchPath, shell, loader),
    olderModes: search.architecture === 'x64' ? search.architecture : null,
    setuidProgram: search.setuidProgram,
  };
}

async function pathOf(command: string, searchPath: string): Promise<string | null> {
  const found = findProgram(command, searchPath);
  return found.kind === 'found' ? found.path : null;
}

async function loaderOf(program: string): Promise<string | null> {
  const file = systemFiles.open(await realpath(program));
  if (file === null) return null;
  try {
    const format = parseProgram(file);
    return format.kind === 'elf' ? format.interpreter : null;
  } finally {
    file.close();
  }
}

/** On some systems one file is every command, the shell too. */
async function findUnlisted(searchPath: string, shell: string, loader: string): Promise<string | null> {
  for (const name of ['id', 'uname', 'env', 'ls']) {
    const path = await pathOf(name, searchPath);
    if (path === null || (await realpath(path)) === (await realpath(shell))) continue;
    if ((await loaderOf(path)) === loader) return path;
  }
  return null;
}

/** A variable that no attempt is granted. */
export const ungrantedVariable = 'SVC_ATTEMPTS_SECRET';
