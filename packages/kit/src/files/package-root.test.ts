import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { findPackageRoot } from './package-root.ts';

it('the package root is the directory above the module whose package.json offers svc', () => {
  const root = findPackageRoot(import.meta.filename);
  expect(existsSync(join(root, 'packages', 'kit', 'src', 'files', 'package-root.ts'))).toBe(true);
});

it('a module outside every package is a bug of whoever asks', () => {
  expect(() => findPackageRoot('/nowhere/module.js')).toThrow('no package root above /nowhere');
});
