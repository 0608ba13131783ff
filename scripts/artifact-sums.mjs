// Holds the bundled artifacts to artifacts/sums.json, which is committed: the hash of each archive, and so what a committed svc.lock records.
import { spawnSync } from 'node:child_process';
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
 * What the last release recorded: the file at the newest tag `v…` that this commit follows. Returns null before the first release, and in a copy without git.
 */
export function releasedSums(root) {
  const git = (...args) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*');
  if (tag.status !== 0) return null;
  const recorded = git('show', `${tag.stdout.trim()}:./${file}`);
  return recorded.status === 0 ? JSON.parse(recorded.stdout) : null;
}

/** The bundled artifacts whose bytes in `sums`, or in the record, differ from those released under their version. */
export function releasedVersionsThatChanged(root, sums = readSums(root)) {
  return compareSums(releasedSums(root) ?? {}, sums)
    .filter(({ change }) => change === 'changed')
    .map(({ ref }) => ref);
}

/** Records what was built. Bytes that went out under a version stay: other bytes need another version, and this throws, naming them. */
export function acceptSums(root, built) {
  const changed = releasedVersionsThatChanged(root, built);
  if (changed.length > 0) {
    const refs = changed.join(', ');
    throw new Error(`released versions keep their bytes: give ${refs} another version in artifacts/<name>/svc.yaml`);
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
