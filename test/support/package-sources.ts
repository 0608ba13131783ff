/** The sources of all packages, and what each file imports. */

import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

import { ownPath } from '../../scripts/own-names.mjs';

/** Path below `packages/` to source text. */
export type Sources = ReadonlyMap<string, string>;

/** Matches where a module is named, also by `import()` and `require()`. */
export const specifier = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)'([^'\s]+)'/g;

export function readSources(): Sources {
  const root = new URL('../../packages/', import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^[^/]+\/src\/.*\.tsx?$/.test(file),
  );
  return new Map(files.map((file) => [file, readFileSync(new URL(file, root), 'utf8')]));
}

/** What a file imports: a path below `packages/`, or the name of an installed package or a built-in module. */
export function importsOf(file: string, source: string): string[] {
  const specifiers = withoutComments(source).matchAll(specifier);
  return [...specifiers].map(([, specifier = '']) => {
    if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
    return ownPath(specifier)?.replace(/^packages\//, '') ?? specifier;
  });
}

export function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '');
}
