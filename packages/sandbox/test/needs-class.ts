import type { TestContext } from 'vitest';

import { probe, type SandboxClass } from '../src/index.ts';

/** Skips a test where this machine cannot enforce a class, unless it has to (`REQUIRE_CONTAINMENT`). */
export async function needsClass(context: TestContext, wanted: SandboxClass): Promise<void> {
  const { obstacles } = await probe();
  const obstacle = obstacles[wanted];
  if (obstacle === null) return;
  if (process.env['REQUIRE_CONTAINMENT'] === 'sealed') throw new Error(obstacle);
  context.skip(true, `needs a machine that enforces ${wanted}: ${obstacle}`);
}
