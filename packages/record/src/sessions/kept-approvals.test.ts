import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { changeKept, type KeptApprovals, keptPath, readKept, removeKept } from './kept-approvals.ts';

const manifest = '/svc.yaml';
const call = { key: 'k', id: 'apr_1', at: 1, by: 'person', call: '[]' };
const kept: KeptApprovals = { manifest, bound: 'b', calls: [call] };

/** Where a home without approvals keeps them. */
function fresh(): string {
  const home = mkdtempSync(join(tmpdir(), 'svc-kept-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return keptPath(home, manifest);
}

const times = (count: number): readonly object[] => Array.from({ length: count }, () => call);

function movedBehindLink(path: string): void {
  renameSync(path, `${path}-real`);
  symlinkSync(`${path}-real`, path);
}

it('a file of kept calls that is removed while a program changes it does not come back', async () => {
  const path = fresh();
  const removals: Promise<void>[] = [];
  await changeKept(path, () => {
    removals.push(removeKept(path));
    return kept;
  });
  await Promise.all(removals);
  expect(existsSync(path)).toBe(false);
});

it.each<readonly [string, (path: string) => void]>([
  ['is a link', movedBehindLink],
  ['has a second name', (path) => linkSync(path, `${path}.second`)],
  ['can be read or written by other users', (path) => chmodSync(path, 0o660)],
  ['is in a folder that other users can write to', (path) => chmodSync(dirname(path), 0o770)],
  ['is in a folder that is a link', (path) => movedBehindLink(dirname(path))],
  ['holds no approvals', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, -20))],
  ['holds no approvals', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(manifest, '/other.yaml'))],
  ['is longer than 1024 KiB', (path) => writeFileSync(path, JSON.stringify({ ...kept, calls: times(30_000) }))],
  ['holds no approvals', (path) => writeFileSync(path, JSON.stringify({ ...kept, calls: times(1001) }))],
])('a file of kept calls that %s counts for nothing, is not changed, and can be removed', async (fault, breaks) => {
  const path = fresh();
  await changeKept(path, () => kept);
  expect(readKept(path)).toEqual(kept);
  breaks(path);
  const before = readFileSync(path, 'utf8');
  const refusal = expect.objectContaining({
    code: 'W-APR-007',
    message: expect.stringContaining(`${path} ${fault}`) as string,
  }) as Error;
  expect(() => readKept(path)).toThrow(refusal);
  await expect(changeKept(path, () => kept)).rejects.toEqual(refusal);
  expect(readFileSync(path, 'utf8')).toBe(before);
  await removeKept(path);
  expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
});
