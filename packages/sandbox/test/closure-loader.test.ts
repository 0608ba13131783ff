import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { programClosure } from './closure-support/collected.ts';
import { ParsedFiles, systemFiles } from '../src/closure/file-collection.ts';

/** `EVERY_PROGRAM=1` asks about all of them instead of about 100. */
const wanted = process.env['EVERY_PROGRAM'] === undefined ? 100 : Number.POSITIVE_INFINITY;
const loaders = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'];
const loader = loaders.find((path) => existsSync(path));

/** Dynamic programs of this machine that go by its loader, spread over the alphabet. */
function programs(): string[] {
  const parsed = new ParsedFiles(systemFiles);
  const paths = readdirSync('/usr/bin').map((name) => join('/usr/bin', name));
  const dynamic = paths.filter((path) => {
    const format = parsed.format(path);
    return format?.kind === 'elf' && format.interpreter === loader;
  });
  const step = Math.max(1, Math.floor(dynamic.length / wanted));
  return dynamic.filter((_, index) => index % step === 0);
}

/**
 * What the loader itself says it would load. Asked about the file without links, which is what it sees when the kernel
 * starts it; the environment is empty, as nothing of it may count.
 */
function listed(program: string): string[] {
  const text = execFileSync(loader ?? '', ['--list', realpathSync(program)], { encoding: 'utf8', env: {} });
  return [...text.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => realpathSync(path));
}

describe('the closure of a program of this machine', () => {
  it('equals the list of the loader, no library less and none more', (context) => {
    context.skip(loader === undefined, 'needs glibc');
    const asked = programs();
    expect(asked.length).toBeGreaterThan(0);
    for (const program of asked) {
      const { read, execute, problems } = programClosure(program, systemFiles, ['/usr/bin']);
      const expected = [...new Set([...listed(program), realpathSync(program), realpathSync(loader ?? '')])].sort();
      const libraries = read.filter((path) => !path.includes('/glibc-hwcaps/') && path !== '/etc/ld.so.preload');
      expect({ program, files: [...libraries, ...execute].sort(), problems }).toEqual({
        program,
        files: expected,
        problems: [],
      });
    }
  });
});
