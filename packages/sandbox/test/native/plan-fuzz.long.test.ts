import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { needs } from './support/needs.ts';

const parser = new URL('../../../../native/svc-launch/plan.c', import.meta.url).pathname;
const harness = new URL('../../../../native/svc-launch/fuzz/plan-fuzz.c', import.meta.url).pathname;

it('svc-launch reads no plan past its end and takes no malformed one, of 300,000 made from well-formed ones', (context) => {
  needs(context, 'compiler');
  const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'));
  try {
    const program = join(folder, 'plan-fuzz');
    const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
    const flags = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-g', '-O1', '-DSTANDALONE', ...sanitizers];
    execFileSync('cc', [...flags, '-o', program, harness, parser]);
    const { status, stderr, stdout } = spawnSync(program, ['300000', '20251122'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    // Some of them must be plans, or nothing was shown about those that are taken.
    expect(Number(/^300000 plans, (\d+) of them well-formed\n$/.exec(stdout)?.[1])).toBeGreaterThan(10_000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
