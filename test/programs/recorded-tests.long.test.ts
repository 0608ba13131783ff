/** Runs as many recorded tests as a large project has. */

import { afterAll, describe, expect, it } from 'vitest';

import { fewMegabytes, megabyteTests } from '../support/megabyte-tests.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

let workspace: Workspace | null = null;

afterAll(() => workspace?.remove());

describe('svc test', () => {
  it('runs 200 tests of a megabyte each in the memory of a few', async () => {
    workspace = await megabyteTests(200);
    const ended = await svc(workspace, ['test'], { env: fewMegabytes });
    expect(ended.stdout.split('\n').at(-2)).toBe('200 tests: 200 passed');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  }, 240_000);
});
