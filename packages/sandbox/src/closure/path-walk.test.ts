import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plantHost } from '../../test/closure-support/planted-host.ts';
import { systemFiles, PathWalker } from './file-collection.ts';

describe('the walk of a path', () => {
  const walker = new PathWalker(
    plantHost({
      '/lib64': { linkTo: 'usr/lib64' },
      '/usr/lib64/ld.so.2': { linkTo: '/lib/machine/ld.so.2' },
      '/lib': { linkTo: 'usr/lib' },
      '/usr/lib/machine/ld.so.2': 'loader',
      '/usr/bin/cc': { linkTo: '/etc/alternatives/cc' },
      '/etc/alternatives/cc': { linkTo: '../../usr/bin/gcc' },
      '/usr/bin/gcc': { linkTo: 'gcc-12' },
      '/usr/bin/gcc-12': 'compiler',
      '/loop/a': { linkTo: 'b' },
      '/loop/b': { linkTo: 'a' },
      '/up': { linkTo: '../../..' },
      '/empty': { linkTo: '' },
    }),
  );

  it('names every link by which it goes, each in its own place', () => {
    expect(walker.walk('/lib64/ld.so.2')).toEqual({
      path: '/usr/lib/machine/ld.so.2',
      kind: 'file',
      executable: true,
      links: [
        { path: '/lib64', target: 'usr/lib64' },
        { path: '/usr/lib64/ld.so.2', target: '/lib/machine/ld.so.2' },
        { path: '/lib', target: 'usr/lib' },
      ],
      names: ['/usr/lib64/ld.so.2', '/usr/lib/machine/ld.so.2'],
    });
  });

  it('names what the thing itself is called on the way', () => {
    expect(walker.walk('/usr/bin/cc')?.names).toEqual([
      '/usr/bin/cc',
      '/etc/alternatives/cc',
      '/usr/bin/gcc',
      '/usr/bin/gcc-12',
    ]);
  });

  it.each([
    ['/lib64/../lib/./machine//ld.so.2', '/usr/lib/machine/ld.so.2'],
    ['/..', '/'],
    ['/up/usr/bin/gcc-12', '/usr/bin/gcc-12'],
    ['/', '/'],
  ])('from %s ends at %s', (path, end) => {
    expect(walker.walk(path)?.path).toBe(end);
  });

  it.each([
    '/nothing',
    '/usr/bin/gcc/x',
    '/usr/bin/gcc/..',
    '/usr/bin/gcc/',
    '/usr/bin/gcc/.',
    '/loop/a',
    '/empty',
    'usr',
    '',
    '/usr\0',
    '/a'.repeat(5000),
  ])('from %j leads nowhere', (path) => {
    expect(walker.walk(path)).toBeNull();
  });

  it('follows 40 links and not 41, as the kernel does', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 41 }, (_, index) => [`/${index + 1}`, { linkTo: `/${index}` }]),
    );
    const host = plantHost({ ...chain, '/0': 'end' });
    expect(new PathWalker(host).walk('/40')?.path).toBe('/0');
    expect(new PathWalker(host).walk('/41')).toBeNull();
  });

  it('ends where realpath ends, whatever links there are', { timeout: 300_000 }, () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'path-walk-')));
    const name = fc.constantFrom('a', 'b', 'c', '..', '.');
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
    const target = fc.oneof(
      path,
      path.map((relative) => join(root, relative)),
    );
    const realpath = (asked: string): string | null => {
      try {
        return realpathSync.native(asked);
      } catch {
        return null;
      }
    };
    try {
      fc.assert(
        fc.property(fc.array(fc.tuple(path, target), { maxLength: 8 }), path, (planted, asked) => {
          const tree = mkdtempSync(join(root, 't'));
          mkdirSync(join(tree, 'b/c'), { recursive: true });
          writeFileSync(join(tree, 'c'), '');
          for (const [link, to] of planted) {
            const place = join(tree, link);
            // A link that was planted before may lead out of the tree: nothing is planted there.
            const directory = realpath(dirname(place));
            const inside = directory !== null && `${directory}/`.startsWith(`${tree}/`);
            if (inside && new PathWalker(systemFiles).walk(place) === null) plantLink(to, place);
          }
          const question = `${tree}/${asked}`;
          expect(new PathWalker(systemFiles).walk(question)?.path ?? null).toBe(realpath(question));
        }),
        { numRuns: 300 },
      );
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

function plantLink(to: string, place: string): void {
  try {
    symlinkSync(to, place);
  } catch (error) {
    // Its directory is not there, or a link that leads nowhere stands in its place: then it is a smaller tree.
    expect(['ENOENT', 'EEXIST', 'ENOTDIR', 'ELOOP']).toContain((error as NodeJS.ErrnoException).code);
  }
}
