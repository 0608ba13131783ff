/** Completes commands and paths in the line of a chat. */

import { opendirSync, type Dir } from 'node:fs';
import { join, normalize } from 'node:path';

import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { Completion } from '@svc/terminal/keyboard/line-prompt.ts';

/** A directory may hold any number of names. */
const maxLooked = 2000;
const maxShown = 20;

/** `/words` at the start of a line, and `@paths` of a folder anywhere. Names that are not plain, or masked, are left out. */
export async function completeLine(
  text: string,
  cursor: number,
  { words, folder }: { readonly words: readonly string[]; readonly folder: string | null },
): Promise<Completion> {
  const before = text.slice(0, cursor);
  if (/^\/\S*$/.test(before)) {
    return { start: 0, candidates: words.filter((name) => name.startsWith(before)).map((name) => `${name} `) };
  }
  const [, path] = /(?:^|\s)@(\S*)$/.exec(before) ?? [];
  if (path === undefined || folder === null) return { start: cursor, candidates: [] };
  return { start: cursor - path.length, candidates: pathsIn(folder, path) };
}

function pathsIn(root: string, begun: string): readonly string[] {
  const slash = begun.lastIndexOf('/') + 1;
  const [folder, start] = [begun.slice(0, slash), begun.slice(slash)];
  // Offers only what lies below the folder.
  if (folder.startsWith('/') || normalize(folder).startsWith('..')) return [];
  const directory = unlessRefused(() => opendirSync(join(root, folder)), null);
  if (directory === null) return [];
  try {
    return matching(directory, start).map((name) => folder + name);
  } finally {
    directory.closeSync();
  }
}

function matching(directory: Dir, start: string): readonly string[] {
  const found: string[] = [];
  for (let looked = 0; looked < maxLooked && found.length < maxShown; looked += 1) {
    const entry = unlessRefused(() => directory.readSync(), null);
    if (entry === null) break;
    const { name } = entry;
    if (name.startsWith(start) && (start !== '' || !name.startsWith('.')) && plain.test(name) && !isMaskedName(name))
      found.push(entry.isDirectory() ? `${name}/` : name);
  }
  return found.toSorted();
}

/** Names that mean themselves in a message. */
const plain = /^[\p{L}\p{N}._+,=@%:-]+$/u;
