import { dirname } from 'node:path/posix';

import type { FileCollection } from './file-collection.ts';
import type { PathWalk } from './path-walk.ts';

/**
 * A path in which `*` stands for any part of one name. `{prefix}` is the directory above the one that the program lies
 * in, `{modules}` the `node_modules` that it lies beneath. Each of a program's names gives such a directory.
 */
export type PathPattern = string;

const maxMatches = 2048;
const maxNames = 16_384;

/** What of a pattern is there. `path` may be of a link. */
export function matchingPaths(files: FileCollection, pattern: PathPattern, program: PathWalk): string[] {
  const matches = placesOf(pattern, program).flatMap((place) => expand(files, place));
  if (matches.length <= maxMatches) return matches;
  files.problem(`${program.path} has more than ${maxMatches} files ${pattern}; the rest was left out`);
  return matches.slice(0, maxMatches);
}

function placesOf(pattern: PathPattern, { names }: PathWalk): string[] {
  if (pattern.startsWith('/')) return [pattern];
  const places = names.map((name) => {
    const modules = /^.*?\/node_modules(?=\/)/.exec(name)?.[0];
    const start = pattern.startsWith('{modules}') ? modules : dirname(dirname(name)).replace(/\/$/, '');
    return start === undefined ? [] : [pattern.replace(/^\{\w+\}/, () => start)];
  });
  return [...new Set(places.flat())];
}

function expand(files: FileCollection, pattern: string): string[] {
  const segments = pattern.split('/').slice(1);
  let paths = [''];
  for (const [at, segment] of segments.entries()) {
    const list = at === segments.length - 1 ? 'list' : 'listBranches';
    paths = segment.includes('*')
      ? paths.flatMap((path) => namesLike(files, path, { segment, list }).map((name) => `${path}/${name}`))
      : paths.map((path) => `${path}/${segment}`);
    paths = paths.slice(0, maxNames);
  }
  return paths.filter((path) => files.find(path) !== null);
}

interface Wanted {
  readonly segment: string;
  readonly list: 'list' | 'listBranches';
}

function namesLike(files: FileCollection, directory: string, { segment, list }: Wanted): string[] {
  const [start = '', ...others] = segment.split('*');
  const end = others.at(-1) ?? '';
  const middle = others.slice(0, -1);
  const walk = files.find(directory === '' ? '/' : directory);
  if (walk?.kind !== 'directory') return [];
  const names = files.host[list](walk.path) ?? [];
  return names
    .slice(0, maxNames)
    .filter(
      (name) =>
        name.length >= start.length + end.length &&
        name.startsWith(start) &&
        name.endsWith(end) &&
        middle.every((part) => name.slice(start.length, name.length - end.length).includes(part)),
    )
    .sort();
}
