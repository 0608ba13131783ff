import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { findPackageRoot } from './package-root.ts';

it('the package root is the directory above the module whose package.json offers svc', () => {
  const root = findPackageRoot(import.meta.filename);
  expect(existsSync(join(root, 'packages', 'kit', 'src', 'files', 'package-root.ts'))).toBe(true);
});

it('a module outside every package is a bug of the caller', () => {
  expect(() => findPackageRoot('/nowhere/module.js')).toThrow('no package root above /nowhere');
});

it('a module that lies in another package finds the svc that is installed for it, links resolved', () => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'svc-root-')));
  try {
    const installed = join(place, 'store', 'svc');
    mkdirSync(join(place, 'node_modules', '@svc', 'capsule', 'dist'), { recursive: true });
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, 'package.json'), '{ "bin": { "svc": "bin/svc.cjs" } }');
    symlinkSync(installed, join(place, 'node_modules', '@svc', 'svc'));
    expect(findPackageRoot(join(place, 'node_modules/@svc/capsule/dist/index.js'))).toBe(installed);
  } finally {
    rmSync(place, { recursive: true });
  }
});
