import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

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

describe('a capsule whose first lines cannot be written', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  const start = (...flags: readonly string[]): ChildProcess => {
    const manifest = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';
    const { folder, home } = capsule({ manifest });
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [program, 'run', ...flags], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: home, SVC_CONTAINMENT_CEILING: 'advisory' },
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    children.push(child);
    return child;
  };
  const said =
    'error[E-IO-001]: standard output, which says where the capsule listens, could not be written: no space left on the device\nhint: free some space and run the command again\n';

  it('ends where a program was to read them, and says why once', async () => {
    const child = start('--json');
    const [stderr, [status]] = await Promise.all([textOf(child), once(child, 'close')]);
    expect(status).toBe(1);
    expect(stderr.split('E-IO-001')).toHaveLength(2);
    expect(stderr).toContain(said);
  });

  it('says so while it goes on', async () => {
    const child = start();
    const ended = once(child, 'close');
    let stderr = '';
    for await (const piece of child.stderr?.setEncoding('utf8') ?? []) {
      stderr += String(piece);
      // A second signal would end it without its stop.
      if (stderr.includes(said) && !child.killed) child.kill();
    }
    expect(stderr).toContain(said);
    expect(await ended).toEqual([1, null]);
  });
});

async function textOf(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const piece of child.stderr?.setEncoding('utf8') ?? []) text += String(piece);
  return text;
}
