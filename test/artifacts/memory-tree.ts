import {
  FileFault,
  joined,
  parentOf,
  type EntryKind,
  type FileTree,
  type TreeEntry,
} from '../../artifacts/svc-tool-editor/file-tree.ts';

/** A tree of files that are only remembered. Directories are those that files lie in, and those made. */
export class MemoryTree implements FileTree {
  readonly files = new Map<string, Uint8Array>();
  readonly links = new Set<string>();
  /** Directories that cannot be listed. */
  readonly locked = new Set<string>();
  readonly #directories = new Set<string>(['']);

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    for (const [path, content] of Object.entries(files)) {
      this.makeDirectory(parentOf(path));
      this.files.set(path, typeof content === 'string' ? new TextEncoder().encode(content) : content);
    }
  }

  text(path: string): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.files.get(path));
  }

  stat(path: string): { readonly kind: EntryKind; readonly size: number } | null {
    if (this.links.has(path)) return { kind: 'link', size: 0 };
    if (this.#directories.has(path)) return { kind: 'directory', size: 0 };
    const file = this.files.get(path);
    return file === undefined ? null : { kind: 'file', size: file.length };
  }

  read(path: string, maxBytes: number): Uint8Array {
    const file = this.files.get(path);
    if (file === undefined) throw new FileFault(`${path} does not exist`);
    return file.slice(0, maxBytes);
  }

  list(path: string, maxEntries: number): readonly TreeEntry[] {
    if (this.locked.has(path)) throw new FileFault(`${path} may not be accessed`);
    const inside = [...this.files.keys(), ...this.links, ...this.#directories].filter(
      (each) => each !== '' && parentOf(each) === path,
    );
    const entries = inside.map((each) => ({
      name: each.slice(joined(path, '').length),
      kind: this.stat(each)?.kind ?? 'other',
    }));
    // Unordered, as a real directory.
    return entries.slice(0, maxEntries).toReversed();
  }

  makeDirectory(path: string): void {
    if (path === '') return;
    this.makeDirectory(parentOf(path));
    this.#directories.add(path);
  }

  replace(path: string, bytes: Uint8Array): void {
    this.files.set(path, bytes);
  }
}
