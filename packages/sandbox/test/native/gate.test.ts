import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { expect, it, vi } from 'vitest';

import { encodeLaunchPlan } from '../../src/launch/launch-plan.ts';
import { helperPath } from './support/helper.ts';
import { needs } from './support/needs.ts';
import { composed } from './support/plans.ts';

const source = fileURLToPath(new URL('support/hold-outer.c', import.meta.url));

/** The number of `read`. */
const readCall = process.arch === 'arm64' ? '63' : '0';

it('the program waits until the outer process has given up all it can', async (context) => {
  needs(context, 'sealed', 'superuser', 'compiler');
  const folder = mkdtempSync(join(tmpdir(), 'svc-gate-'));
  context.onTestFinished(() => rmSync(folder, { recursive: true }));
  const holder = join(folder, 'hold-outer');
  execFileSync('cc', ['-o', holder, source]);
  writeFileSync(join(folder, 'plan'), encodeLaunchPlan(composed()));
  const plan = openSync(join(folder, 'plan'), 'r');
  const call = [helperPath(), '3', '-', '-', '-', '/usr/bin/echo', 'echo', 'ran'];
  const child = spawn(holder, call, { stdio: ['pipe', 'pipe', 'inherit', plan] });
  closeSync(plan);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('it lacks its pipes');
  context.onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const held = /^held (\d+)$/.exec(String((await lines.next()).value))?.[1];
  const inner = readFileSync(`/proc/${held}/task/${held}/children`, 'latin1').trim();
  // It waits for the gate in one call, and makes no other process.
  await vi.waitFor(() => {
    expect(readFileSync(`/proc/${inner}/syscall`, 'latin1').split(' ')[0]).toBe(readCall);
  }, 10_000);
  expect(readFileSync(`/proc/${inner}/task/${inner}/children`, 'latin1')).toBe('');
  expect(readFileSync(`/proc/${held}/status`, 'latin1')).toMatch(
    /CapPrm:\t0{16}\nCapEff:\t0{16}\nCapBnd:\t0{16}\nCapAmb:\t0{16}\nNoNewPrivs:\t1\n/,
  );
  stdin.end('.');
  expect((await lines.next()).value).toBe('ran');
  expect(await ended).toEqual([0, null]);
});
