import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { plantHost } from '../../test/closure-support/planted-host.ts';
import { type FileHost, systemFiles } from './file-collection.ts';

const root = mkdtempSync(join(tmpdir(), 'file-host-'));

beforeAll(() => {
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(root, 'bin/run'), '0123456789');
  chmodSync(join(root, 'bin/run'), 0o711);
  writeFileSync(join(root, 'bin/plain'), '');
  chmodSync(join(root, 'bin/plain'), 0o644);
  symlinkSync('bin/run', join(root, 'link'));
});
afterAll(() => rmSync(root, { recursive: true }));

const planted = plantHost({
  [`${root}/bin/run`]: '0123456789',
  [`${root}/bin/plain`]: { plain: '' },
  [`${root}/link`]: { linkTo: 'bin/run' },
});

describe.each<[string, FileHost]>([
  ['this machine', systemFiles],
  ['a planted tree', planted],
])('the files of %s', (_, host) => {
  it('appear without following a link', () => {
    expect(host.look(join(root, 'bin'))).toEqual({ kind: 'directory', executable: true });
    expect(host.look(join(root, 'bin/run'))).toEqual({ kind: 'file', executable: true });
    expect(host.look(join(root, 'bin/plain'))).toEqual({ kind: 'file', executable: false });
    expect(host.look(join(root, 'link'))).toMatchObject({ kind: 'link' });
    expect(host.linkTarget(join(root, 'link'))).toBe('bin/run');
  });

  it('appear by name', () => {
    expect([...(host.list(join(root, 'bin')) ?? [])].sort()).toEqual(['plain', 'run']);
    expect([...(host.list(root) ?? [])].sort()).toEqual(['bin', 'link']);
  });

  it('appear without the plain files where only what leads on is asked for', () => {
    expect([...(host.listBranches(root) ?? [])].sort()).toEqual(['bin', 'link']);
    expect(host.listBranches(join(root, 'bin'))).toEqual([]);
  });

  it('arrive in pieces, up to their end', () => {
    const file = host.open(join(root, 'bin/run'));
    expect(file?.size).toBe(10);
    expect(file?.read(2, 3).toString()).toBe('234');
    expect(file?.read(8, 100).toString()).toBe('89');
    expect(file?.read(10, 1).toString()).toBe('');
    file?.close();
  });

  it('become null at a path without a file', () => {
    for (const path of [join(root, 'gone'), join(root, 'bin/run/below')]) {
      expect(host.look(path)).toBeNull();
      expect(host.linkTarget(path)).toBeNull();
      expect(host.list(path)).toBeNull();
      expect(host.listBranches(path)).toBeNull();
      expect(host.open(path)).toBeNull();
    }
    expect(host.linkTarget(join(root, 'bin/run'))).toBeNull();
    expect(host.list(join(root, 'bin/run'))).toBeNull();
    expect(host.open(join(root, 'bin'))).toBeNull();
  });
});

describe('a file of this machine', () => {
  const identityOf = (path: string): string => {
    const file = systemFiles.open(path);
    file?.close();
    return file?.identity ?? 'none';
  };

  it('has another identity after a change, and another than its copy', () => {
    const [path, copy] = [join(root, 'changing'), join(root, 'copy')];
    writeFileSync(path, 'a');
    writeFileSync(copy, 'a');
    const before = identityOf(path);
    expect(identityOf(path)).toBe(before);
    expect(identityOf(copy)).not.toBe(before);
    appendFileSync(path, 'b');
    expect(identityOf(path)).not.toBe(before);
  });

  it('stays closed when it is a FIFO, and nobody waits for its other end', () => {
    const fifo = join(root, 'fifo');
    execFileSync('mkfifo', [fifo]);
    expect(systemFiles.look(fifo)).toMatchObject({ kind: 'other' });
    expect(systemFiles.open(fifo)).toBeNull();
  });
});
