import { basename, dirname } from 'node:path/posix';

import type { ElfFile } from './elf.ts';
import type { FileCollection } from './file-collection.ts';
import { glibcSearch, type LibrarySearch, type LoadedObject, muslSearch } from './library-search.ts';

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

  /** A library by name or path and whatever it needs; false when there is none. */
  open(wanted: string): boolean {
    const found = this.#search.find(wanted, this.#program);
    for (const { name, walk, elf } of found) {
      this.#files.read(walk);
      // What one opened library needs says nothing about what another finds loaded already.
      this.#load([{ name, origin: dirname(name), elf, loader: this.#program }], new Set(this.#names));
    }
    return found.length > 0;
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
