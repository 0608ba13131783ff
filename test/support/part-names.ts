/** Finds the code of the parts that a build can leave out, in what the build made: bundles keep the names of functions and classes. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { parts } from '../../scripts/parts.mjs';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const declaration = /^(?:export )?(?:async )?(?:function\*?|class) (\w+)/gm;

/** For each part, what only its files declare. Libraries have functions with names of one word too, which are left out. */
export function namesOfParts(): ReadonlyMap<string, readonly string[]> {
  const sources = readdirSync(`${checkout}packages`, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file))
    .map((file) => `packages/${file}`);
  const declared = sources.map((file) => ({
    part: Object.entries(parts).find(([, paths]) => paths.some((path) => file.startsWith(path)))?.[0],
    names: [...readFileSync(`${checkout}${file}`, 'utf8').matchAll(declaration)].map(([, name = '']) => name),
  }));
  const elsewhere = (part: string): ReadonlySet<string> =>
    new Set(declared.filter((file) => file.part !== part).flatMap(({ names }) => names));
  return new Map(
    Object.keys(parts).map((part) => {
      const others = elsewhere(part);
      const own = declared.filter((file) => file.part === part).flatMap(({ names }) => names);
      return [part, own.filter((name) => /.[A-Z]/.test(name) && !others.has(name))];
    }),
  );
}

/** The parts of which bundled code declares something. */
export function partsIn(code: string): readonly string[] {
  const declared = code.matchAll(/\b(?:function\*?|class) (\w+)|\b(\w+)=class\b/g);
  const names = new Set([...declared].map(([, named, assigned]) => named ?? assigned));
  return [...namesOfParts()].filter(([, own]) => own.some((name) => names.has(name))).map(([part]) => part);
}
