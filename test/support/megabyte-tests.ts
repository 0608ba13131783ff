/** Makes a project whose recorded tests are too large to be held all at once. */

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { scriptCapsule } from './script-capsule.ts';
import { says, script } from './scripted-turns.ts';
import { svc } from './svc-process.ts';
import type { Workspace } from './workspace.ts';

/** Variables for a `svc` that can hold a few of them. */
export const fewMegabytes = { NODE_OPTIONS: '--max-old-space-size=64' };

/** A project with so many tests, each a copy of one recording whose answer is of a megabyte. */
export async function megabyteTests(count: number): Promise<Workspace> {
  const workspace = scriptCapsule({ script: script(says('x'.repeat(1_000_000))) });
  const recorded = ['run', '--task', 'Say it.', '--capture', 'content'];
  for (const args of [recorded, ['test', '--record', 'test-0']]) {
    expect(await svc(workspace, args)).toMatchObject({ code: 0 });
  }
  const tests = join(workspace.folder, 'tests');
  for (let index = 1; index < count; index += 1) {
    cpSync(join(tests, 'test-0'), join(tests, `test-${index}`), { recursive: true });
  }
  return workspace;
}
