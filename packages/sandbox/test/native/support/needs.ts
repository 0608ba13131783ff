import { execFileSync } from 'node:child_process';

import type { TestContext } from 'vitest';

import type { LandlockRules, LaunchPlan } from '../../../src/launch/launch-plan.ts';
import { builtHelper } from './helper.ts';
import { launchSync } from './launch.ts';
import { barePlan as bare } from '../../../src/launch/launch-plan.ts';
import { composed } from './plans.ts';

/** What a test needs of this machine. */
export type Ability = 'helper' | 'sealed' | 'landlock' | 'landlockPorts' | 'landlockScopes' | 'superuser' | 'compiler';

const reasons: Readonly<Record<Ability, string>> = {
  helper: 'needs Linux',
  sealed: 'needs user namespaces',
  landlock: 'needs a kernel with Landlock',
  landlockPorts: 'needs a kernel with Landlock for TCP',
  landlockScopes: 'needs a kernel with Landlock for signals',
  superuser: 'needs to be run as root',
  compiler: 'needs a C compiler',
};

/** Skips the test, with the reason, where the machine lacks something; fails it where nothing of containment may be lacking. */
export function needs(context: TestContext, ...abilities: readonly Ability[]): void {
  for (const ability of ['helper', ...abilities] as const) {
    if (has(ability)) continue;
    const mustBeThere = process.env['REQUIRE_CONTAINMENT'] === 'sealed' && ability !== 'compiler';
    if (mustBeThere) throw new Error(`this machine ${reasons[ability]}`);
    context.skip(true, reasons[ability]);
  }
}

const known = new Map<Ability, boolean>();

function has(ability: Ability): boolean {
  const answer = known.get(ability) ?? probe(ability);
  known.set(ability, answer);
  return answer;
}

function probe(ability: Ability): boolean {
  switch (ability) {
    case 'helper':
      return builtHelper() !== null;
    case 'superuser':
      return process.getuid?.() === 0;
    case 'compiler':
      return hasCompiler();
    case 'sealed':
      return runs(composed());
    case 'landlock':
      return confines({ filesystem: 1n, network: 0n, scope: 0n });
    case 'landlockPorts':
      return confines({ filesystem: 1n, network: 3n, scope: 0n });
    case 'landlockScopes':
      return confines({ filesystem: 1n, network: 0n, scope: 3n });
  }
}

function confines(handled: LandlockRules['handled']): boolean {
  return runs({ ...bare, landlock: { handled, paths: [{ rights: 1n, path: '/' }], ports: [] } });
}

function runs(plan: LaunchPlan): boolean {
  return launchSync({ plan, program: ['/usr/bin/env', 'true'] }).code === 0;
}

function hasCompiler(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
