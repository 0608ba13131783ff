import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { misunderstood } from './shells.ts';

it('no line of 100,000 starts anything in dash or bash but what was understood', { timeout: 3_600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'shells-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { wrong, understood } = misunderstood(folder, 100_000);
  expect(wrong).toEqual([]);
  expect(understood).toBeGreaterThan(5000);
});
