import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

it('a capsule serves while nobody takes its line out of a pipe that is full', async () => {
  const workspace = capsule();
  const path = join(workspace.folder, 'out');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const [page, filled] = [Buffer.alloc(4096, '.'), fill(reader)];
  const out = openSync(path, 'w');
  const child = spawn(process.execPath, [program, 'run', '--json'], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
    stdio: ['ignore', out, 'ignore'],
  });
  closeSync(out);
  const ended = once(child, 'exit');
  await expect.poll(async () => await listed(workspace), { timeout: 20_000 }).toMatch(/^localhost:/);
  expect((await fetch(`http://${await listed(workspace)}/.well-known/agent-card.json`)).status).toBe(200);
  for (let left = filled; left > 0; left -= readSync(reader, page)) expect(left).toBeGreaterThan(0);
  await expect.poll(() => readOrEmpty(reader), { timeout: 20_000 }).toMatch(/^\{.*\}\n$/);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  closeSync(reader);
});

/** Bytes until a pipe takes no more. */
function fill(pipe: number): number {
  let filled = 0;
  try {
    for (;;) filled += writeSync(pipe, Buffer.alloc(4096, '.'));
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
    return filled;
  }
}

function readOrEmpty(pipe: number): string {
  const bytes = Buffer.alloc(4096);
  try {
    return bytes.toString('utf8', 0, readSync(pipe, bytes));
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
    return '';
  }
}

/** Where the only capsule of a home listens; empty before it does. */
async function listed(workspace: Parameters<typeof svc>[0]): Promise<string> {
  const { stdout } = await svc(workspace, ['ps', '--json']);
  return /"url":"([^"]+)"/.exec(stdout)?.[1] ?? '';
}
