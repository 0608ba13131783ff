import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { changeKept, keptPath, removeKept } from './kept-approvals.ts';

it('a file of kept calls that is removed while a program changes it does not come back', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-kept-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const path = keptPath(home, '/svc.yaml');
  const removals: Promise<void>[] = [];
  await changeKept(path, () => {
    removals.push(removeKept(path));
    return { manifest: '/svc.yaml', bound: 'b', calls: [{ key: 'k', id: 'apr_1', at: 1, by: 'person', call: '[]' }] };
  });
  await Promise.all(removals);
  expect(existsSync(path)).toBe(false);
});
