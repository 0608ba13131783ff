import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import {
  acceptSums,
  compareSums,
  readSums,
  releasedSums,
  releasedVersionsThatChanged,
  renderDifferences,
} from '../../scripts/artifact-sums.mjs';
import { eachFolder } from '../support/each-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('dist/bundled holds the archives that artifacts/sums.json records, and no others', () => {
  const bundled = join(root, 'dist', 'bundled');
  const built: Record<string, string> = {};
  for (const name of readdirSync(bundled)) {
    for (const version of readdirSync(join(bundled, name))) {
      const archive = readFileSync(join(bundled, name, version, `${name}-${version}.zip`));
      built[`${name}@${version}`] = createHash('sha256').update(archive).digest('hex');
    }
  }
  // A component was changed: npm run build -- --accept records it.
  expect(built).toEqual(readSums(root));
});

describe('the record of the bundled artifacts', () => {
  let folder: string;
  eachFolder('svc-sums-', (made) => {
    folder = made;
    mkdirSync(join(folder, 'artifacts'));
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.0": "1", "b@1.0.0": "2" }');
  });
  it('names what is new, changed and gone', () => {
    const differences = compareSums(readSums(folder), { 'a@1.0.0': '3', 'c@1.0.0': '4' });
    expect(differences).toEqual([
      { ref: 'a@1.0.0', change: 'changed' },
      { ref: 'b@1.0.0', change: 'gone' },
      { ref: 'c@1.0.0', change: 'new' },
    ]);
    expect(renderDifferences(differences)).toBe(
      'artifacts/sums.json records other bytes than were built; npm run build -- --accept records these:\n' +
        '  a@1.0.0 (changed)\n  b@1.0.0 (gone)\n  c@1.0.0 (new)',
    );
    expect(renderDifferences([])).toBeNull();
  });

  /** What is there is released under this tag. */
  function release(tag: string): void {
    const git = (...args: string[]): void => {
      const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
      const { status, stderr } = spawnSync('git', ['-C', folder, ...identity, ...args], { encoding: 'utf8' });
      expect(status, stderr).toBe(0);
    };
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', tag);
    git('tag', tag);
  }

  it('takes other bytes under a version until there is a release', () => {
    acceptSums(folder, { 'b@1.0.0': '2', 'a@1.0.0': '3' });
    expect(readFileSync(join(folder, 'artifacts', 'sums.json'), 'utf8')).toBe(
      '{\n  "a@1.0.0": "3",\n  "b@1.0.0": "2"\n}\n',
    );
    expect(releasedSums(folder)).toBeNull();
  });

  it('keeps the bytes of a released version, and takes another version beside or in place of it', () => {
    release('v0.1.0');
    expect(() => acceptSums(folder, { 'a@1.0.0': '3', 'b@1.0.0': '2' })).toThrow(
      'released versions keep their bytes: give a@1.0.0 another version in artifacts/<name>/svc.yaml',
    );
    expect(readSums(folder)).toEqual({ 'a@1.0.0': '1', 'b@1.0.0': '2' });
    acceptSums(folder, { 'a@1.0.1': '3', 'b@1.0.0': '2' });
    expect(readSums(folder)).toEqual({ 'a@1.0.1': '3', 'b@1.0.0': '2' });
  });

  it('holds what was not accepted but edited, too, and to the newest of releases', () => {
    release('v0.1.0');
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.1": "3", "b@1.0.0": "2" }');
    release('v0.2.0');
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.1": "3", "b@1.0.0": "9", "c@1.0.0": "4" }');
    expect(releasedVersionsThatChanged(folder)).toEqual(['b@1.0.0']);
  });
});

it('a bundled artifact whose bytes differ from the last release has another version', (context) => {
  context.skip(releasedSums(root) === null, 'nothing has been released yet');
  expect(releasedVersionsThatChanged(root)).toEqual([]);
});
