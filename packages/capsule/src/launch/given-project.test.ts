import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import type { OpenedFolder } from '@svc/sandbox/project-folder.ts';
import { GivenFolder } from './given-project.ts';

it('a folder in which its user cannot write stays read only, and nobody is asked about it', () => {
  const path = mkdtempSync(join(tmpdir(), 'svc-folder-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const whyReadOnly = (of: string): string | null => {
    const folder = { path: of } as OpenedFolder;
    return new GivenFolder(folder, 'sealed', { openWritable: () => folder }).whyReadOnly()?.message ?? null;
  };
  expect(whyReadOnly(path)).toBe(null);
  // No user can write in a folder that is not there, not even root.
  const gone = join(path, 'gone');
  expect(whyReadOnly(gone)).toMatch(`this user cannot write in ${gone}: `);
});
