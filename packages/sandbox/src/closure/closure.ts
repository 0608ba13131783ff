import { basename } from 'node:path/posix';

import type { ProgramFormat } from './elf.ts';
import { type CollectedFiles, FileCollection } from './file-collection.ts';
import type { FileHost } from './file-host.ts';
import { findCommand } from './find-command.ts';
import { LoadedLibraries } from './loaded-libraries.ts';
import type { PathWalk } from './path-walk.ts';
import { programOfEnv } from './shebang.ts';

/** A program that runs when a command is started: itself, or what its `#!` line leads to. */
export interface StartedProgram {
  readonly walk: PathWalk;
  readonly isScript: boolean;
  /** Null for a script and for a static program. */
  readonly libraries: LoadedLibraries | null;
}

/** As many interpreters of interpreters as the kernel follows. */
const maxInterpreters = 5;

/**
 * Everything that the kernel and the loader open to start the program at `path`: the program, what its `#!` line names,
 * its loader, its libraries, and the links by which they are reached. Nothing is run, and what the program itself opens
 * later is not known here. `searchPath` is where `#!/usr/bin/env` looks.
 */
export function programClosure(path: string, host: FileHost, searchPath: readonly string[]): CollectedFiles {
  const files = new FileCollection(host);
  if (isShellScript(addProgram(files, path, searchPath))) files.problem(shellScriptProblem(path));
  return files.result();
}

/** Adds the closure of a program, and says which programs run: the one asked for, then its interpreters. */
export function addProgram(files: FileCollection, path: string, searchPath: readonly string[]): StartedProgram[] {
  return start(files, { path, searchPath, script: null, depth: 0 });
}

/** Whether what was started is a script of a shell, which starts programs that only running it would tell. */
export function isShellScript(started: readonly StartedProgram[]): boolean {
  const shell = started.at(-1)?.walk.names.some((name) => /^(?:ba|da|a|z|k|mk|fi)?sh$/.test(basename(name)));
  return started[0]?.isScript === true && shell === true;
}

export function shellScriptProblem(path: string): string {
  return `${path} is a shell script, and which programs it starts is not known: they have to be allowed by name`;
}

interface Start {
  readonly path: string;
  readonly searchPath: readonly string[];
  /** Whose `#!` line names it. */
  readonly script: string | null;
  readonly depth: number;
}

function start(files: FileCollection, { path, searchPath, script, depth }: Start): StartedProgram[] {
  const problem = depth > maxInterpreters ? 'is one interpreter too many' : problemOf(files.find(path));
  const walk = files.find(path);
  if (problem !== null || walk === null) {
    files.problem(script === null ? `${path} ${problem}` : `${path}, which ${script} is to be run by, ${problem}`);
    return [];
  }
  files.execute(walk);
  const format = files.format(walk);
  if (format?.kind !== 'script') return [{ walk, isScript: false, libraries: addMachineCode(files, walk, format) }];
  const { interpreter, argument } = format;
  const next = { searchPath, script: walk.path, depth: depth + 1 };
  const started = [{ walk, isScript: true, libraries: null }, ...start(files, { ...next, path: interpreter })];
  if (basename(interpreter) !== 'env') return started;
  const named = programOfEnv(argument);
  const found = named === null || named.includes('/') ? named : findCommand(files, named, searchPath);
  if (found !== null) return [...started, ...start(files, { ...next, path: found })];
  files.problem(`${walk.path} is to be run by ${named ?? 'a program that env is not told'}, which is not there`);
  return started;
}

function problemOf(walk: PathWalk | null): string | null {
  if (walk === null) return 'is not there';
  if (walk.kind !== 'file') return 'is not a file';
  return walk.executable ? null : 'is not executable';
}

function addMachineCode(files: FileCollection, walk: PathWalk, format: ProgramFormat | null): LoadedLibraries | null {
  if (format?.kind !== 'elf') {
    files.problem(`${walk.path} cannot be started: ${reasonOf(format)}`);
    return null;
  }
  const { interpreter } = format;
  if (interpreter === null) return null;
  const loader = files.find(interpreter);
  if (loader === null || loader.kind !== 'file') {
    files.problem(`${walk.path} needs the loader ${interpreter}, which is not there`);
    return null;
  }
  files.execute(loader);
  return new LoadedLibraries(files, walk.path, { ...format, interpreter });
}

function reasonOf(format: Exclude<ProgramFormat, { kind: 'elf' }> | null): string {
  if (format === null) return 'it cannot be read';
  return 'reason' in format ? format.reason : 'it is neither machine code nor a script with a first line that says so';
}
