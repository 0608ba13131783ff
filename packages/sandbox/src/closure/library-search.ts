/** Finds the libraries of a program in the order in which its loader would, also by the cache that the loader keeps. */

import { basename, dirname } from 'node:path/posix';

import type { ElfFile, Machine } from './elf.ts';
import type { FileCollection } from './file-collection.ts';
import type { PathWalk } from './opened-file.ts';

/** A program or library in memory, as far as it matters to what is loaded for it. */
interface LoadedObject {
  /** As the loader names it. */
  readonly name: string;
  /** What `$ORIGIN` means in it. */
  readonly origin: string;
  readonly elf: ElfFile;
  /** Whose need brought it in; null for the program. */
  readonly loader: LoadedObject | null;
}

interface FoundLibrary {
  /** As the loader names it. */
  readonly name: string;
  readonly walk: PathWalk;
  readonly elf: ElfFile;
}

/** How one loader looks for a library. Several are found when the processor decides which of them is loaded. */
interface LibrarySearch {
  find(wanted: string, object: LoadedObject): readonly FoundLibrary[];
  /** Names that the loader answers itself. */
  isOwn(wanted: string): boolean;
}

const multiarch: Record<Machine, string> = { x86_64: 'x86_64-linux-gnu', aarch64: 'aarch64-linux-gnu' };
const platforms: Record<Machine, readonly string[]> = {
  x86_64: ['x86_64', 'haswell', 'xeon_phi'],
  aarch64: ['aarch64'],
};
const maxVariants = 16;
const maxPathFileBytes = 64 * 1024;

/** glibc's `ld.so`: RPATH up the chain, RUNPATH, the cache, the default directories, and in each the variants first. */
function glibcSearch(files: FileCollection): LibrarySearch {
  return {
    isOwn: () => false,
    find: (wanted, object) => {
      const { machine } = object.elf;
      if (wanted.includes('/')) return expanded(wanted, object).flatMap((path) => plain(files, path, machine));
      const found: Candidate[] = [];
      for (const directory of runPaths(object)) {
        found.push(...inDirectory(files, { directory, wanted, machine }));
        // After variants alone the search goes on: the processor may be too old for each of them.
        if (found.some(({ variant }) => !variant)) return found;
      }
      return [...found, ...byDefault(files, wanted, object)];
    },
  };
}

/** musl's loader: RPATH and RUNPATH are one and both are inherited, then the directories of its path file. */
function muslSearch(files: FileCollection, interpreter: string): LibrarySearch {
  const directories = muslDirectories(files, interpreter);
  return {
    isOwn: (wanted) => /^lib(?:c|pthread|rt|m|dl|util|xnet)\./.test(wanted),
    find: (wanted, object) => {
      const { machine } = object.elf;
      if (wanted.includes('/')) return plain(files, wanted, machine);
      for (const directory of [...inheritedPaths(object), ...directories]) {
        const found = plain(files, `${directory}/${wanted}`, machine);
        if (found.length > 0) return found;
      }
      return [];
    },
  };
}

type Candidate = FoundLibrary & { readonly variant: boolean };

function byDefault(files: FileCollection, wanted: string, object: LoadedObject): Candidate[] {
  const { machine, noDefaultLibraries } = object.elf;
  const defaults = defaultDirectories(machine);
  const found: Candidate[] = [];
  for (const { path, variant } of files.loaderCache().get(machine)?.get(wanted) ?? []) {
    if (noDefaultLibraries && defaults.includes(dirname(path))) continue;
    found.push(...plain(files, path, machine, variant));
    if (found.some((candidate) => !candidate.variant)) return found;
  }
  for (const directory of noDefaultLibraries ? [] : defaults) {
    found.push(...inDirectory(files, { directory, wanted, machine }));
    if (found.some((candidate) => !candidate.variant)) return found;
  }
  return found;
}

interface DirectorySearch {
  readonly directory: string;
  readonly wanted: string;
  readonly machine: Machine;
}

function inDirectory(files: FileCollection, { directory, wanted, machine }: DirectorySearch): Candidate[] {
  const variants = `${directory}/glibc-hwcaps`;
  const levels = files.find(variants) === null ? [] : (files.host.list(variants) ?? []);
  return [
    ...levels.slice(0, maxVariants).flatMap((level) => plain(files, `${variants}/${level}/${wanted}`, machine, true)),
    ...plain(files, `${directory}/${wanted}`, machine),
  ];
}

/** What a loader would take from one path: a library for this machine; it passes over everything else. */
function plain(files: FileCollection, path: string, machine: Machine, variant = false): Candidate[] {
  const walk = files.find(path);
  const format = walk === null ? null : files.format(walk);
  if (walk === null || format?.kind !== 'elf' || format.machine !== machine) return [];
  return [{ name: path, walk, elf: format, variant }];
}

function runPaths(object: LoadedObject): string[] {
  const paths: string[] = [];
  if (object.elf.runpath.length === 0) {
    for (let at: LoadedObject | null = object; at !== null; at = at.loader) {
      for (const path of at.elf.rpath) paths.push(...expanded(path, at));
    }
  }
  for (const path of object.elf.runpath) paths.push(...expanded(path, object));
  // A relative one is looked up where the agent writes, so it is nothing to be granted.
  return paths.filter((path) => path.startsWith('/'));
}

function inheritedPaths(object: LoadedObject): string[] {
  const paths: string[] = [];
  for (let at: LoadedObject | null = object; at !== null; at = at.loader) {
    for (const path of [...at.elf.rpath, ...at.elf.runpath]) paths.push(withOrigin(path, at));
  }
  return paths.filter((path) => path.startsWith('/') && !path.includes('$'));
}

/** `$LIB` and `$PLATFORM` are the loader's own settings: every value it may have been built with. */
function expanded(path: string, object: LoadedObject): string[] {
  const { machine } = object.elf;
  const libs = /\$(?:LIB\b|\{LIB\})/.test(path) ? [`lib/${multiarch[machine]}`, 'lib64', 'lib'] : [''];
  const kinds = /\$(?:PLATFORM\b|\{PLATFORM\})/.test(path) ? platforms[machine] : [''];
  return libs.flatMap((lib) =>
    kinds.map((kind) =>
      withOrigin(path, object)
        .replaceAll(/\$(?:LIB\b|\{LIB\})/g, () => lib)
        .replaceAll(/\$(?:PLATFORM\b|\{PLATFORM\})/g, () => kind),
    ),
  );
}

function withOrigin(path: string, { origin }: LoadedObject): string {
  return path.replaceAll(/\$(?:ORIGIN\b|\{ORIGIN\})/g, () => origin);
}

function defaultDirectories(machine: Machine): string[] {
  const names = [`lib/${multiarch[machine]}`, 'lib64', 'lib'];
  return names.flatMap((name) => [`/${name}`, `/usr/${name}`]);
}

function muslDirectories(files: FileCollection, interpreter: string): string[] {
  const machine = /^ld-musl-(.+)\.so\.1$/.exec(basename(interpreter))?.[1] ?? '';
  const walk = files.find(`${dirname(dirname(interpreter)).replace(/\/$/, '')}/etc/ld-musl-${machine}.path`);
  const file = walk?.kind === 'file' ? files.host.open(walk.path) : null;
  if (walk === null || file === null) return ['/lib', '/usr/local/lib', '/usr/lib'];
  try {
    files.read(walk);
    const text = file.read(0, Math.min(file.size, maxPathFileBytes)).toString('utf8');
    return text.split(/[:\n]/).filter((directory) => directory.startsWith('/'));
  } finally {
    file.close();
  }
}

const preloadPath = '/etc/ld.so.preload';
const maxPreloadBytes = 64 * 1024;
const maxObjects = 4096;

/** A dynamic program and the libraries that its loader brings in; more can be asked for, as `dlopen` does. */
export class LoadedLibraries {
  readonly #files: FileCollection;
  readonly #search: LibrarySearch;
  readonly #program: LoadedObject;
  readonly #names = new Set<string>();

  /** `path` is the program's own, without links. Everything it needs to start is read at once. */
  constructor(files: FileCollection, path: string, elf: ElfFile & { readonly interpreter: string }) {
    const isMusl = basename(elf.interpreter).startsWith('ld-musl-');
    this.#files = files;
    this.#search = isMusl ? muslSearch(files, elf.interpreter) : glibcSearch(files);
    this.#program = { name: path, origin: dirname(path), elf, loader: null };
    this.#load([this.#program], this.#names);
    if (!isMusl) for (const library of preloaded(files)) this.open(library);
  }

  /** Names of what was loaded at the start, as they were asked for. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  get isMusl(): boolean {
    return this.#search.isOwn('libc.so');
  }

  /** A library by name or path and whatever it needs; false if it is missing. */
  open(wanted: string): boolean {
    const found = this.#search.find(wanted, this.#program);
    for (const { name, walk, elf } of found) {
      this.#files.read(walk);
      // What one opened library needs says nothing about what another finds loaded already.
      this.#load([{ name, origin: dirname(name), elf, loader: this.#program }], new Set(this.#names));
    }
    return found.length > 0;
  }

  /** As `open`, for a library that stays: others find it by its own name afterwards. */
  openFirst(wanted: string): void {
    for (const { elf } of this.#search.find(wanted, this.#program))
      if (elf.soname !== null) this.#names.add(elf.soname);
    this.open(wanted);
  }

  /** In the order of the loader: what is loaded under a name already is not looked for again. */
  #load(queue: LoadedObject[], names: Set<string>): void {
    for (const object of queue) {
      for (const wanted of object.elf.needed) {
        if (names.has(wanted) || this.#search.isOwn(wanted)) continue;
        names.add(wanted);
        const found = this.#search.find(wanted, object);
        if (found.length === 0) this.#files.problem(`${object.name} needs the library ${wanted}, which is not there`);
        for (const { name, walk, elf } of found) {
          this.#files.read(walk);
          if (elf.soname !== null) names.add(elf.soname);
          if (queue.length < maxObjects) queue.push({ name, origin: dirname(name), elf, loader: object });
        }
      }
    }
    if (queue.length >= maxObjects)
      this.#files.problem(`${this.#program.name} needs more than ${maxObjects} libraries`);
  }
}

function preloaded(files: FileCollection): string[] {
  const walk = files.find(preloadPath);
  const file = walk?.kind === 'file' ? files.host.open(walk.path) : null;
  if (walk === null || file === null) return [];
  try {
    files.read(walk);
    const text = file.read(0, Math.min(file.size, maxPreloadBytes)).toString('utf8');
    return text
      .replaceAll(/#.*/g, '')
      .split(/[\s:]+/)
      .filter((name) => name !== '');
  } finally {
    file.close();
  }
}
