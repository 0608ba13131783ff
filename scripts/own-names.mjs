// @ts-check
// The names by which packages here import each other, from the one table of them: `paths` in tsconfig.json. TypeScript and esbuild read that
// by themselves. The links in node_modules are not followed: in a copy of the checkout with the same node_modules they lead back to the original.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What the names of all packages here begin with. */
export const scope = '@svc/';

/** @type {{ compilerOptions: { paths: Record<string, [string]> } }} */
const { compilerOptions } = JSON.parse(readFileSync(new URL('../tsconfig.json', import.meta.url), 'utf8'));

/** The beginning of a name, and what stands for it in a path from the root of the checkout. */
const table = Object.entries(compilerOptions.paths).map(([name, [place]]) => ({
  name: name.slice(0, -'*'.length),
  place: place.slice('./'.length, -'*'.length),
}));

/**
 * The path, from the root of the checkout, of the module with this name; null for the name of an installed package.
 * @param {string} specifier
 * @returns {string | null}
 */
export function ownPath(specifier) {
  const row = table.find(({ name }) => specifier.startsWith(name));
  return row === undefined ? null : row.place + specifier.slice(row.name.length);
}

/** The table for vitest. */
export const ownAliases = table.map(({ name, place }) => ({
  find: new RegExp(`^${name}`),
  replacement: fileURLToPath(new URL(`../${place}`, import.meta.url)),
}));
