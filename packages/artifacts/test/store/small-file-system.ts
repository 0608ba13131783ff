import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/** Whether this process may mount: the tests of a full disk and of a read-only one need file systems of their own. */
export const canMount = probe();

/** An empty file system of so many KiB, for so many names if that is given; gone after the test. */
export function mountSmall(kibibytes: number, names = 0): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-mount-'));
  run('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k,nr_inodes=${names}`, 'tmpfs', directory]);
  onTestFinished(() => {
    run('umount', [directory]);
    rmdirSync(directory);
  });
  return directory;
}

export function makeReadOnly(directory: string): void {
  run('mount', ['-o', 'remount,ro', directory]);
}

function probe(): boolean {
  if (process.getuid?.() !== 0) return false;
  const directory = mkdtempSync(join(tmpdir(), 'svc-mount-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', directory]).status === 0;
  if (mounted) spawnSync('umount', [directory]);
  rmdirSync(directory);
  return mounted;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
}
