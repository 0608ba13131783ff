// Holds the bundled artifacts to artifacts/sums.json, which is committed: the hash of each archive, and so what a committed svc.lock records.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = 'artifacts/sums.json';

/** `{ '<name>@<version>': '<SHA-256 of its archive>' }` as it is recorded in the checkout. */
export function readSums(root) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

/** What differs: `{ ref, change }` with `new`, `changed` or `gone`. */
export function compareSums(recorded, built) {
  const refs = [...new Set([...Object.keys(recorded), ...Object.keys(built)])].sort();
  return refs
    .filter((ref) => recorded[ref] !== built[ref])
    .map((ref) => ({ ref, change: !(ref in recorded) ? 'new' : !(ref in built) ? 'gone' : 'changed' }));
}

/**
 * Records what was built. Where the package is published, bytes that went out under a version stay: other bytes need another version, and this
 * throws, naming them.
 */
export function acceptSums(root, built) {
  const { private: isPrivate } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const changed = compareSums(readSums(root), built).filter(({ change }) => change === 'changed');
  if (isPrivate !== true && changed.length > 0) {
    const refs = changed.map(({ ref }) => ref).join(', ');
    throw new Error(`published versions keep their bytes: give ${refs} another version in artifacts/<name>/svc.yaml`);
  }
  const sorted = Object.fromEntries(Object.entries(built).sort(([one], [other]) => (one < other ? -1 : 1)));
  writeFileSync(join(root, file), `${JSON.stringify(sorted, null, 2)}\n`);
}

/** What the build says of differences, or null. A test fails on them; a build goes on, so that a change can be tried. */
export function renderDifferences(differences) {
  if (differences.length === 0) return null;
  const lines = differences.map(({ ref, change }) => `  ${ref} (${change})`);
  return `${file} records other bytes than were built; npm run build -- --accept records these:\n${lines.join('\n')}`;
}
