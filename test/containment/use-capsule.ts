import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, type TestContext } from 'vitest';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { ContainedCapsule, type ContainedOptions, type Setup } from './contained-capsule.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/**
 * One capsule for all tests of a suite, ended after them. Where the host lacks the class, or the other user cannot run the checkout, a
 * test that asks for it is skipped with the reason.
 */
export function useCapsule(
  setup: Setup<ContainmentClass>,
  options: ContainedOptions | (() => ContainedOptions),
): (context: TestContext) => ContainedCapsule {
  let started: ContainedCapsule | string = 'the capsule was not started';
  beforeAll(async () => {
    started = await startWhereClassIs(setup, typeof options === 'function' ? options() : options);
  });
  afterAll(async () => {
    if (typeof started !== 'string') await started.dispose();
  });
  return (context) => (typeof started === 'string' ? skipped(context, started) : started);
}

/** The same for one test, which ends it. */
export async function openCapsule(
  context: TestContext,
  setup: Setup<ContainmentClass>,
  options: ContainedOptions,
): Promise<ContainedCapsule> {
  const started = await startWhereClassIs(setup, options);
  if (typeof started === 'string') return skipped(context, started);
  context.onTestFinished(async () => await started.dispose());
  return started;
}

/** Skips the test where the host has no such program. */
export function needsPrograms(context: TestContext, ...names: readonly string[]): void {
  for (const name of names) context.skip(!hasProgram(name), `needs ${name}`);
}

export function hasProgram(name: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'command -v "$0"', name], { stdio: 'ignore' }).status === 0;
}

function skipped(context: TestContext, reason: string): never {
  context.skip(reason);
  throw new Error('a skipped test ends there');
}

/** What `start` makes; the test is skipped where the host lacks the class that this asks for. */
export async function whereClassIs<T>(
  context: TestContext,
  wanted: ContainmentClass,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    return skipped(context, lackOf(wanted, error));
  }
}

/** A sentence instead where the host lacks the class, which is a failure where nothing may be lacking. */
async function startWhereClassIs(
  setup: Setup<ContainmentClass>,
  options: ContainedOptions,
): Promise<ContainedCapsule | string> {
  if (!canRun(setup)) return 'needs a checkout that others may read';
  try {
    return await ContainedCapsule.start(setup, options);
  } catch (error) {
    return lackOf(setup.class, error);
  }
}

/** The sentence of a refusal for want of the class; any other error is thrown, and this one too where nothing may be lacking. */
function lackOf(wanted: ContainmentClass, error: unknown): string {
  const refusal = /error\[E-CAP-003\].*/.exec(String(error))?.[0];
  if (refusal === undefined || process.env['REQUIRE_CONTAINMENT'] === 'sealed') throw error;
  return `needs a host that achieves ${wanted}: ${refusal}`;
}

function canRun({ uid }: Setup<ContainmentClass>): boolean {
  if (uid === null) return true;
  return spawnSync(process.execPath, [program, '--version'], { uid, gid: uid, stdio: 'ignore', cwd: '/' }).status === 0;
}
