import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { findHelper } from './host-containment.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let root: string;
eachFolder('svc-helper-', (made) => {
  root = made;
});

function plant(path: string, mode = 0o755): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  chmodSync(file, mode);
  return file;
}

function find(packageRoot: string, platform = 'linux', architecture = 'x64'): string | null {
  return findHelper({ packageRoot: join(root, packageRoot), platform, architecture });
}

describe('the place of the helper', () => {
  it('lies in the package', () => {
    const built = plant('svc/dist/native/linux-x64/svc-launch');
    expect(find('svc')).toBe(built);
  });

  it('never lies in a package beside or inside, whatever put it there', () => {
    plant('node_modules/@svc/launch-linux-x64/svc-launch');
    plant('node_modules/svc/node_modules/@svc/launch-linux-x64/svc-launch');
    expect(find('node_modules/svc')).toBeNull();
  });

  it('depends on the architecture', () => {
    plant('svc/dist/native/linux-x64/svc-launch');
    const built = plant('svc/dist/native/linux-arm64/svc-launch');
    expect(find('svc', 'linux', 'arm64')).toBe(built);
    expect(find('svc', 'linux', 'riscv64')).toBeNull();
  });

  it('does not exist off Linux', () => {
    plant('svc/dist/native/linux-x64/svc-launch');
    expect(find('svc', 'darwin')).toBeNull();
  });

  it('cannot be a file that is not executable, a directory, or a link to nowhere', () => {
    plant('svc/dist/native/linux-x64/svc-launch', 0o644);
    mkdirSync(join(root, 'svc/dist/native/linux-arm64/svc-launch'), { recursive: true });
    expect([find('svc'), find('svc', 'linux', 'arm64')]).toEqual([null, null]);
    mkdirSync(join(root, 'other/dist/native/linux-x64'), { recursive: true });
    symlinkSync('/nonexistent/svc-launch', join(root, 'other/dist/native/linux-x64/svc-launch'));
    expect(find('other')).toBeNull();
  });
});
