import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs a line of sh to its end, in a fresh folder that is its first argument. */
async function sh(line: string, folder: string): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(
      '/bin/sh',
      ['-c', line, 'sh', folder],
      { env: { PATH: process.env['PATH'], HOME: folder } },
      (_error, _stdout, stderr) => {
        resolve({ code: child.exitCode, stderr });
      },
    );
  });
}

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-odd-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('says so when the current directory has been removed', async () => {
  const line = `mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && exec "${process.execPath}" "${root}/bin/svc.cjs" list`;
  expect(await sh(line, freshFolder())).toEqual({
    code: 1,
    stderr: 'error[E-IO-001]: the current directory has been removed\nhint: change to one that is there\n',
  });
});

it('says that it is to be installed again when a part of it is missing', async () => {
  const folder = freshFolder();
  for (const part of ['bin', 'dist']) cpSync(join(root, part), join(folder, part), { recursive: true });
  rmSync(join(folder, 'dist/late/cli-list.cjs'));
  const { code, stderr } = await sh(`exec "${process.execPath}" "$1/bin/svc.cjs" list`, folder);
  expect(code).toBe(70);
  expect(stderr).toMatch(
    /^svc: a part of svc \S+ is missing, install it again: Cannot find module '\.\/late\/cli-list\.cjs'\n$/,
  );
});
