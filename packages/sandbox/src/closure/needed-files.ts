/** Finds all files that commands need to run and to do their work. */

import { basename, dirname } from 'node:path/posix';

import { addBaseline, matchingPaths } from './baseline.ts';
import { type CollectedFiles, FileCollection } from './file-collection.ts';
import type { FileHost } from './file-host.ts';
import {
  addProgram,
  isShellScript,
  shellScriptProblem,
  type StartedProgram,
  findCommand,
  withoutShim,
} from './closure.ts';
import { type Profile, profiles } from './profiles.ts';

/**
 * All that a process may open so that each of `programs`, absolute paths, can run and do its work: the baseline, closures
 * and profiles; and what is granted besides: files and directories to read, and directories whose programs may run. `searchPath` is the `PATH`
 * that the process will have.
 */
export function neededFiles(
  programs: readonly string[],
  host: FileHost,
  searchPath: readonly string[],
  { reads = [], trees = [] }: { readonly reads?: readonly string[]; readonly trees?: readonly string[] } = {},
): CollectedFiles {
  const files = new FileCollection(host);
  addBaseline(files);
  addCommands(files, programs, searchPath);
  for (const walk of reads.map((path) => files.find(path))) if (walk !== null) files.read(walk);
  for (const walk of trees.map((path) => files.find(path))) if (walk !== null) files.execute(walk);
  return files.result();
}

/** What a command needs in order to run and to do its work. */
export interface CommandFiles extends CollectedFiles {
  /**
   * What to start: the command itself, or the program that a pyenv shim stands for. Then a link in `links` takes the
   * shim's place; where links are not made, its directory has to come first in `PATH`.
   */
  readonly program: string;
}

const maxProgramDepth = 3;
const maxHelpers = 4096;

/** Libraries that the C library itself opens while a program runs: to end a thread, to look up users and hosts. */
const openedByLibc = ['libgcc_s.so.1', 'libnss_files.so.2', 'libnss_dns.so.2', 'libnss_compat.so.2'];

/**
 * The closure of the command at `path` and what its profile adds (`profiles.ts`). A shell script without a profile is
 * told as a problem. `searchPath` is the `PATH` that the command will have.
 */
export function commandFiles(path: string, host: FileHost, searchPath: readonly string[]): CommandFiles {
  const files = new FileCollection(host);
  const [program = path] = addCommands(files, [path], searchPath);
  return { program, ...files.result() };
}

/** Adds the files of several commands, and says for each what to start. */
export function addCommands(files: FileCollection, paths: readonly string[], searchPath: readonly string[]): string[] {
  const commands = new ProfiledCommands(files, searchPath);
  return paths.map((path) => {
    const program = withoutShim(files, path, searchPath);
    if (program !== null) commands.add(program);
    return program ?? path;
  });
}

/** Commands with their profiles, each once: what one needs may need the other. */
class ProfiledCommands {
  readonly #files: FileCollection;
  readonly #searchPath: readonly string[];
  readonly #added = new Set<string>();
  readonly #helpers = new Set<string>();

  constructor(files: FileCollection, searchPath: readonly string[]) {
    this.#files = files;
    this.#searchPath = searchPath;
  }

  add(path: string): void {
    if (this.#added.has(path)) return;
    this.#added.add(path);
    const started = addProgram(this.#files, path, this.#searchPath);
    const applying = started.map((program) => ({ program, found: profilesOf(program) }));
    for (const { program, found } of applying) {
      if (program.libraries?.isMusl === false) for (const name of openedByLibc) program.libraries.open(name);
      for (const profile of found) this.#apply(profile, program);
    }
    const isKnown = applying[0]?.found.some(({ ofScript }) => ofScript) ?? false;
    if (isShellScript(started) && !isKnown) this.#files.problem(shellScriptProblem(path));
  }

  #apply(profile: Profile, { walk, libraries }: StartedProgram): void {
    const files = this.#files;
    const paths = (patterns: readonly string[] = []): string[] =>
      patterns.flatMap((pattern) => matchingPaths(files, pattern, walk));
    for (const path of paths(profile.read)) this.#read(path);
    for (const path of paths(profile.readAround)) this.#read(dirname(path));
    for (const path of paths(profile.execute)) this.#addHelpers(path, 0);
    for (const path of paths(profile.plugins)) libraries?.open(path);
    for (const name of profile.needs ?? []) this.#addNeeded(name);
  }

  #addNeeded(name: string): void {
    const path = name.startsWith('/') ? name : findCommand(this.#files, name, this.#searchPath);
    if (path !== null && this.#files.find(path) !== null) this.add(path);
  }

  #read(path: string): void {
    const walk = this.#files.find(path);
    if (walk !== null) this.#files.read(walk);
  }

  /** A directory may be executed whole; its machine code gets its libraries, its scripts only what `needs` names. */
  #addHelpers(path: string, depth: number): void {
    const walk = this.#files.find(path);
    if (walk === null || this.#helpers.has(walk.path) || this.#helpers.size >= maxHelpers) return;
    this.#helpers.add(walk.path);
    if (depth === 0) this.#files.execute(walk);
    if (walk.kind === 'directory' && depth < maxProgramDepth) {
      for (const name of this.#files.host.list(walk.path) ?? []) this.#addHelpers(`${walk.path}/${name}`, depth + 1);
    } else if (walk.kind === 'file' && walk.executable && this.#files.format(walk)?.kind === 'elf') {
      addProgram(this.#files, walk.path, this.#searchPath);
    }
  }
}

function profilesOf({ walk, libraries }: StartedProgram): Profile[] {
  const names = walk.names.map((name) => basename(name));
  const loaded = [...(libraries?.names ?? [])];
  return profiles.filter(
    ({ programs, loading }) =>
      names.some((name) => programs?.test(name) ?? false) || loaded.some((name) => loading?.test(name) ?? false),
  );
}
