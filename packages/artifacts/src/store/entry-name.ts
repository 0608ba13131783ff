import { quoted } from '@svc/kit/diagnostics/printable.ts';

const maxNameBytes = 1024;
const maxComponentBytes = 255;
const maxDepth = 32;

/** Why a file or directory name (without a trailing slash) may not stand in an archive; null when it may (contracts §4). */
export function entryNameFault(name: string): string | null {
  if (name === '') return 'has an empty name';
  if (Buffer.byteLength(name) > maxNameBytes) return 'has a name that is too long';
  if (/\p{Cc}/u.test(name)) return 'has a control character in its name';
  if (name.includes('\\')) return 'has a backslash in its name';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'has an absolute path';
  const components = name.split('/');
  if (components.length > maxDepth) return 'is nested too deep';
  for (const component of components) {
    if (component === '..') return 'has a ".." component';
    if (component === '' || component === '.') return 'has an empty or "." component';
    if (Buffer.byteLength(component) > maxComponentBytes) return 'has a name that is too long';
  }
  return null;
}

interface Taken {
  readonly spelling: string;
  readonly kind: 'file' | 'directory' | 'implied directory';
}

/**
 * The names of one archive as a file system would see them, also one that folds case or normalises Unicode: two names that
 * would meet in one place, or a file that would have to be a directory too, are told as a fault.
 */
export class NameTable {
  readonly #taken = new Map<string, Taken>();

  /** Takes the name in; the reason when it collides with one taken before, else null. */
  add(name: string, kind: 'file' | 'directory'): string | null {
    const components = name.split('/');
    for (let depth = 1; depth < components.length; depth += 1) {
      const fault = this.#claim(components.slice(0, depth).join('/'), 'implied directory');
      if (fault !== null) return fault;
    }
    return this.#claim(name, kind);
  }

  #claim(spelling: string, kind: Taken['kind']): string | null {
    const key = folded(spelling);
    const taken = this.#taken.get(key);
    if (taken === undefined) {
      this.#taken.set(key, { spelling, kind });
      return null;
    }
    if (taken.spelling !== spelling) return `collides with ${quoted(taken.spelling)} in case or Unicode form`;
    if (kind === 'file' || taken.kind === 'file') {
      return taken.kind === kind ? 'is there twice' : 'is both a file and a directory';
    }
    if (kind === 'directory' && taken.kind === 'directory') return 'is there twice';
    if (kind === 'directory') this.#taken.set(key, { spelling, kind });
    return null;
  }
}

// Upper case first: it joins what lower case alone keeps apart (ß and ss, the long s, the Kelvin sign).
function folded(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}
