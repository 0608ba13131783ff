import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeDebianPackage } from '../../scripts/debian-package.mjs';
import { whyMissing } from '../support/debian-program.ts';
import { packSvc } from '../support/installed-svc.ts';

const missing = whyMissing('dpkg-deb', 'dpkg');

describe('the package for Debian', { timeout: 240_000 }, () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-deb-test-'));
  let tarball = '';
  let file = '';
  beforeAll(async () => {
    if (missing !== null) return;
    tarball = (await packSvc(place)).path;
    file = join(place, makeDebianPackage(tarball, { out: place, maintainer: 'Ada <ada@example.com>' }));
  }, 240_000);
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  function run(program: string, ...args: string[]): string {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    expect(status, stderr).toBe(0);
    return stdout;
  }

  it('needs a Node that is new enough, and nothing else', (context) => {
    context.skip(missing !== null, missing ?? '');
    const fields = ['Package', 'Version', 'Architecture', 'Depends', 'Maintainer'].map((field) =>
      run('dpkg-deb', '--field', file, field).trim(),
    );
    expect(fields).toEqual(['svc', '0.4.0', 'all', 'nodejs (>= 20.19)', 'Ada <ada@example.com>']);
  });

  it('has the programs, the helper that can be run, and the manual pages, all of them of root', (context) => {
    context.skip(missing !== null, missing ?? '');
    const lines = run('dpkg-deb', '--contents', file).trim().split('\n');
    const rows = lines.map((line) => {
      const [mode = '', owner = '', , , , ...name] = line.split(/\s+/);
      return { mode, owner, name: name.join(' ') };
    });
    const modes = new Map(rows.map(({ mode, name }) => [name, mode]));
    expect(modes.get('./usr/bin/svc -> ../lib/svc/bin/svc.cjs')).toMatch(/^l/);
    expect(modes.get('./usr/lib/svc/bin/svc.cjs')).toBe('-rwxr-xr-x');
    expect(modes.get('./usr/lib/svc/dist/native/linux-arm64/svc-launch')).toBe('-rwxr-xr-x');
    expect(modes.get('./usr/share/man/man1/svc-run.1.gz')).toBe('-rw-r--r--');
    expect(modes.get('./usr/share/doc/svc/copyright')).toBe('-rw-r--r--');
    expect(new Set(rows.map(({ owner }) => owner))).toEqual(new Set(['root/root']));
    expect(rows.filter(({ mode }) => /^.....w|^........w|s/.test(mode.replace(/^l.*/, '')))).toEqual([]);
  });

  it('has the same bytes when it is made again, under another mask', (context) => {
    context.skip(missing !== null, missing ?? '');
    const before = process.umask(0o077);
    try {
      const again = join(place, 'again');
      makeDebianPackage(tarball, { out: again, maintainer: 'Ada <ada@example.com>' });
      expect(readFileSync(join(again, 'svc_0.4.0_all.deb')).equals(readFileSync(file))).toBe(true);
    } finally {
      process.umask(before);
    }
  });

  it('runs where it is unpacked', (context) => {
    context.skip(missing !== null, missing ?? '');
    const root = join(place, 'root');
    run('dpkg-deb', '--extract', file, root);
    expect(run(process.execPath, join(root, 'usr/bin/svc'), '--version')).toBe('0.4.0\n');
    expect(run(process.execPath, join(root, 'usr/bin/svc-referee'), '--version')).toBe('0.4.0\n');
    expect(run(process.execPath, join(root, 'usr/bin/svc'), 'help', '--man')).toContain('svc <command>');
  });

  it('passes lintian', (context) => {
    const lacks = missing ?? whyMissing('lintian');
    context.skip(lacks !== null, lacks ?? '');
    const { stdout } = spawnSync('lintian', ['--allow-root', '--tag-display-limit', '0', file], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((line) => /^[EW]: /.test(line))).toEqual([]);
  });
});
