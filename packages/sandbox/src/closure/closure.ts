/** Finds the files that the kernel and the loader open to start a program. */

import { basename, dirname } from 'node:path/posix';
import { type ProgramFormat, programOfEnv } from './elf.ts';
import type { FileCollection } from './file-collection.ts';
import type { PathWalk } from './opened-file.ts';
import { LoadedLibraries } from './library-search.ts';

/** A program that runs when a command is started: itself, or what its `#!` line leads to. */
export interface StartedProgram {
  readonly walk: PathWalk;
  readonly isScript: boolean;
  /** Is null for a script and for a static program. */
  readonly libraries: LoadedLibraries | null;
}

/** As many interpreters of interpreters as the kernel follows. */
const maxInterpreters = 5;

/**
 * Adds everything that the kernel and the loader open to start the program at `path`: the program, what its `#!` line names, its loader, its
 * libraries, and the links by which they are reached. Nothing is run, and what the program itself opens later is not known here. `searchPath`
 * is where `#!/usr/bin/env` looks. Says which programs run: the one asked for, then its interpreters.
 */
export function addProgram(files: FileCollection, path: string, searchPath: readonly string[]): StartedProgram[] {
  return start(files, { path, searchPath, script: null, depth: 0 });
}

/** Whether what was started is a script of a shell, which starts programs that only running it would show. */
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
  files.problem(`${walk.path} is to be run by ${named ?? 'a program that env does not name'}, which is not there`);
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

/**
 * The program that stands under a bare name in the first of `searchPath` that has one, as `execvp` would find it. Where
 * that is a pyenv shim, the interpreter behind it, with a link in the shim's place.
 */
export function findCommand(files: FileCollection, name: string, searchPath: readonly string[]): string | null {
  for (const directory of searchPath) {
    const path = `${directory}/${name}`;
    const walk = files.find(path);
    if (walk?.kind === 'file' && walk.executable) return withoutShim(files, path, searchPath);
  }
  return null;
}

/** `path`, or the program behind it when it is a pyenv shim; null, with a problem, when nothing stands behind one. */
export function withoutShim(files: FileCollection, path: string, searchPath: readonly string[]): string | null {
  const walk = files.find(path);
  if (walk !== null && basename(walk.path) === 'rustup') return behindRustup(files, path, walk.path);
  const shim = walk === null ? null : resolvePyenvShim(files, walk);
  if (walk === null || shim === null) return path;
  const behind = programBehind(files, shim, basename(path), searchPath);
  if (behind === null) files.problem(`${path} is a pyenv shim, and ${shim.root}/version names no version that has it`);
  else files.link({ path: walk.path, target: behind });
  return behind;
}

/**
 * What rustup starts by the name of one of its proxies: the program of the default toolchain. `rust-toolchain.toml` is the agent's to write. Directories are
 * where rustup makes them, in a home or as images have them.
 */
function behindRustup(files: FileCollection, path: string, proxy: string): string | null {
  const name = basename(path);
  if (name === 'rustup') return path;
  const above = dirname(dirname(dirname(proxy)));
  for (const home of [`${above}/.rustup`, `${above}/rustup`]) {
    const toolchain = /^default_toolchain = "([A-Za-z0-9][A-Za-z0-9._-]*)"$/m.exec(
      smallText(files, `${home}/settings.toml`) ?? '',
    )?.[1];
    const behind = files.find(`${home}/toolchains/${toolchain ?? ''}/bin/${name}`);
    if (toolchain === undefined || behind?.kind !== 'file' || !behind.executable) continue;
    files.link({ path: `${files.find(dirname(path))?.path ?? dirname(path)}/${name}`, target: behind.path });
    return behind.path;
  }
  files.problem(`${path} is a proxy of rustup, whose default toolchain does not have it`);
  return null;
}

function programBehind(
  files: FileCollection,
  shim: PyenvShim,
  name: string,
  searchPath: readonly string[],
): string | null {
  switch (shim.behind.kind) {
    case 'program':
      return shim.behind.path;
    case 'system': {
      const others = searchPath.filter((directory) => files.find(directory)?.path !== shim.directory);
      return findCommand(files, name, others);
    }
    case 'none':
      return null;
  }
}

/** A script by which pyenv stands for the programs of several versions. */
interface PyenvShim {
  readonly root: string;
  /** The directory of the shims, without links. */
  readonly directory: string;
  readonly behind: ShimProgram;
}

type ShimProgram =
  | { readonly kind: 'program'; readonly path: string }
  /** The one that the search path leads to past the shims. */
  | { readonly kind: 'system' }
  /** The global version is not there, or has no such program. */
  | { readonly kind: 'none' };

const maxShimBytes = 4096;
const maxVersions = 16;

/**
 * Returns null for everything but a shim. Only pyenv's global `version` file is followed: `.python-version` and `PYENV_VERSION`
 * are the agent's to write. What a shim would do beyond that, running bash and pyenv, needs no grant then.
 */
function resolvePyenvShim(files: FileCollection, walk: PathWalk): PyenvShim | null {
  const format = files.format(walk);
  if (format?.kind !== 'script' || !/\bbash$/.test(`${format.interpreter} ${format.argument ?? ''}`.trim()))
    return null;
  const text = smallText(files, walk.path) ?? '';
  const root = /^export PYENV_ROOT="(\/[^"$`\\]+)"$/m.exec(text)?.[1];
  if (root === undefined || !/^exec "\/[^"$`\\]*\/pyenv" exec "\$program" "\$@"$/m.test(text)) return null;
  return { root, directory: dirname(walk.path), behind: globalProgram(files, root, basename(walk.path)) };
}

function globalProgram(files: FileCollection, root: string, name: string): ShimProgram {
  const text = smallText(files, `${root}/version`);
  if (text === null) return { kind: 'system' };
  const versions = text
    .replaceAll(/#.*/g, '')
    .split(/[\s:]+/)
    .filter((version) => /^\w[\w.+-]*$/.test(version));
  for (const version of versions.slice(0, maxVersions)) {
    if (version === 'system') return { kind: 'system' };
    const installed = installedVersion(files, `${root}/versions`, version.replace(/^python-/, ''));
    const path = `${installed}/bin/${name}`;
    const walk = installed === null ? null : files.find(path);
    if (walk?.kind === 'file' && walk.executable) return { kind: 'program', path };
  }
  return { kind: 'none' };
}

/** A version by its full name, or the newest that a prefix such as `3.12` stands for. */
function installedVersion(files: FileCollection, directory: string, version: string): string | null {
  if (files.find(`${directory}/${version}`)?.kind === 'directory') return `${directory}/${version}`;
  const matching = (files.host.list(directory) ?? []).filter(
    (name) => name.startsWith(`${version}.`) && /^\d+(?:\.\d+)*$/.test(name),
  );
  const newest = matching.sort((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1);
  return newest === undefined ? null : `${directory}/${newest}`;
}

function smallText(files: FileCollection, path: string): string | null {
  const file = files.host.open(path);
  if (file === null) return null;
  try {
    return file.size > maxShimBytes ? null : file.read(0, file.size).toString('utf8');
  } finally {
    file.close();
  }
}
