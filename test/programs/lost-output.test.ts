import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

describe('a command whose output cannot be written', () => {
  it('says so and ends with 1', () => {
    const { folder, home } = capsule();
    const run = (redirected: string): { status: number | null; stderr: string } =>
      spawnSync('sh', ['-c', `"${process.execPath}" "${program}" --version ${redirected}`], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: home },
        encoding: 'utf8',
      });
    expect(run('> /dev/full')).toMatchObject({
      status: 1,
      stderr: 'error[E-IO-001]: standard output could not be written: ENOSPC: no space left on device, write\n',
    });
    expect(run('2> /dev/full')).toMatchObject({ status: 0, stderr: '' });
    expect(run('| true')).toMatchObject({ status: 0, stderr: '' });
  });
});
