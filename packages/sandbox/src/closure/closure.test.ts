import { describe, expect, it } from 'vitest';

import { emptyDirectory, type Planted, plantHost } from '../../test/closure-support/planted-host.ts';
import { type CacheLine, writeElf, writeLoaderCache } from '../../test/closure-support/write-elf.ts';
import { programClosure } from '../../test/closure-support/collected.ts';
import type { CollectedFiles } from './file-collection.ts';

const loader = '/lib64/ld-linux-x86-64.so.2';
const glibc = {
  '/lib64': { linkTo: 'usr/lib64' },
  '/usr/lib64/ld-linux-x86-64.so.2': { linkTo: '/usr/lib/ld.so' },
  '/usr/lib/ld.so': writeElf({ static: true }),
} as const;

function closureOf(program: string, tree: Readonly<Record<string, Planted>>): CollectedFiles {
  return programClosure(program, plantHost({ ...glibc, ...tree }), ['/usr/bin']);
}

/** What is read when `/usr/bin/p` says `text`, beside its loader. */
function librariesOf(text: Parameters<typeof writeElf>[0], tree: Readonly<Record<string, Planted>>): readonly string[] {
  const closure = closureOf('/usr/bin/p', { '/usr/bin/p': writeElf({ interpreter: loader, ...text }), ...tree });
  expect(closure.problems).toEqual([]);
  return closure.read;
}

const library = writeElf({});

function cached(...lines: CacheLine[]): Record<string, Planted> {
  return { '/etc/ld.so.cache': writeLoaderCache(lines) };
}

describe('the closure of a dynamic program', () => {
  it('has the program, its loader, its libraries and theirs, and each link on the way', () => {
    const closure = closureOf('/usr/bin/sh', {
      '/usr/bin/sh': { linkTo: 'dash' },
      '/usr/bin/dash': writeElf({ interpreter: loader, needed: ['liba.so.1'] }),
      '/usr/lib/liba.so.1': { linkTo: 'liba.so.1.2' },
      '/usr/lib/liba.so.1.2': writeElf({ needed: ['libb.so.1'] }),
      '/usr/lib/libb.so.1': library,
      '/usr/lib/libunused.so.1': library,
    });
    expect(closure).toEqual({
      read: ['/usr/lib/liba.so.1.2', '/usr/lib/libb.so.1'],
      execute: ['/usr/bin/dash', '/usr/lib/ld.so'],
      links: [
        { path: '/lib64', target: 'usr/lib64' },
        { path: '/usr/bin/sh', target: 'dash' },
        { path: '/usr/lib/liba.so.1', target: 'liba.so.1.2' },
        { path: '/usr/lib64/ld-linux-x86-64.so.2', target: '/usr/lib/ld.so' },
      ],
      problems: [],
    });
  });

  it('says which library is missing and who needs it', () => {
    const closure = closureOf('/usr/bin/p', {
      '/usr/bin/p': writeElf({ interpreter: loader, needed: ['liba.so.1'] }),
      '/usr/lib/liba.so.1': writeElf({ needed: ['libgone.so.9'] }),
    });
    expect(closure.problems).toEqual(['/usr/lib/liba.so.1 needs the library libgone.so.9, which is not there']);
  });

  it('says when the loader is missing', () => {
    const closure = closureOf('/usr/bin/p', { '/usr/bin/p': writeElf({ interpreter: '/lib/ld-other.so' }) });
    expect(closure.problems).toEqual(['/usr/bin/p needs the loader /lib/ld-other.so, which is not there']);
  });

  it('comes to an end when libraries need each other', () => {
    const text = { needed: ['liba.so', 'libb.so'] };
    const tree = { '/usr/lib/liba.so': writeElf(text), '/usr/lib/libb.so': writeElf(text) };
    expect(librariesOf({ needed: ['liba.so'] }, tree)).toEqual(['/usr/lib/liba.so', '/usr/lib/libb.so']);
  });

  it('holds what is preloaded into every program, with its libraries', () => {
    const preload = {
      '/etc/ld.so.preload': '# for all\n/opt/hook.so libx.so:liby.so # two more\n',
      '/opt/hook.so': writeElf({ needed: ['libz.so'] }),
      '/usr/lib/libx.so': library,
      '/usr/lib/liby.so': library,
      '/usr/lib/libz.so': library,
    };
    expect(librariesOf({}, preload)).toEqual([
      '/etc/ld.so.preload',
      '/opt/hook.so',
      '/usr/lib/libx.so',
      '/usr/lib/liby.so',
      '/usr/lib/libz.so',
    ]);
  });
});

describe('a library is looked for', () => {
  const inBoth = { '/one/liba.so': library, '/two/liba.so': library, '/usr/lib/liba.so': library };
  const needed = ['liba.so'];

  it('in the directories of RUNPATH, in order', () => {
    expect(librariesOf({ needed, runpath: '/none:/two:/one' }, inBoth)).toEqual(['/two/liba.so']);
  });

  it('in those of RPATH', () => {
    expect(librariesOf({ needed, rpath: '/one' }, inBoth)).toEqual(['/one/liba.so']);
  });

  it('in the RPATH of the file that loaded the one that needs it, but not in its RUNPATH', () => {
    const tree = { ...inBoth, '/one/libc.so': writeElf({ needed }) };
    expect(librariesOf({ needed: ['libc.so'], rpath: '/one' }, tree)).toEqual(['/one/liba.so', '/one/libc.so']);
    expect(librariesOf({ needed: ['libc.so'], runpath: '/one' }, tree)).toEqual(['/one/libc.so', '/usr/lib/liba.so']);
  });

  it('in no RPATH at all by one that has a RUNPATH', () => {
    const tree = { ...inBoth, '/one/libc.so': writeElf({ needed, runpath: '/two' }) };
    expect(librariesOf({ needed: ['libc.so'], rpath: '/one' }, tree)).toEqual(['/one/libc.so', '/two/liba.so']);
  });

  it('beside the program by $ORIGIN, without the links that led to it', () => {
    const closure = closureOf('/usr/bin/p', {
      '/usr/bin/p': { linkTo: '/opt/app/bin/p' },
      '/opt/app/bin/p': writeElf({ interpreter: loader, needed, runpath: '$ORIGIN/../lib' }),
      '/opt/app/lib/liba.so': library,
    });
    expect(closure).toMatchObject({ read: ['/opt/app/lib/liba.so'], problems: [] });
  });

  it('in every place that $LIB and ${PLATFORM} may mean', () => {
    const tree = { '/x/lib64/haswell/liba.so': library };
    expect(librariesOf({ needed, runpath: '/x/$LIB/${PLATFORM}' }, tree)).toEqual(['/x/lib64/haswell/liba.so']);
  });

  it('nowhere else once it is loaded under that name', () => {
    const tree = {
      ...inBoth,
      '/usr/lib/libb.so': writeElf({ needed: ['real.so'] }),
      '/two/liba.so': writeElf({ soname: 'real.so' }),
    };
    expect(librariesOf({ needed: ['liba.so', 'libb.so'], runpath: '/two' }, tree)).toEqual([
      '/two/liba.so',
      '/usr/lib/libb.so',
    ]);
  });

  it('past files that are no library for this machine', () => {
    const tree = { ...inBoth, '/one/liba.so': 'a text', '/two/liba.so': writeElf({ machine: 'aarch64' }) };
    expect(librariesOf({ needed, runpath: '/one:/two' }, tree)).toEqual(['/usr/lib/liba.so']);
  });

  it('at its own path when its name is one', () => {
    expect(librariesOf({ needed: ['/two/liba.so'] }, inBoth)).toEqual(['/two/liba.so']);
  });

  it('never where the agent writes: a relative RUNPATH grants nothing', () => {
    expect(librariesOf({ needed, runpath: 'lib:.:/one' }, { ...inBoth, 'lib/liba.so': library })).toEqual([
      '/one/liba.so',
    ]);
  });

  it('in the cache before the default directories', () => {
    const tree = { ...inBoth, ...cached({ name: 'liba.so', path: '/two/liba.so' }) };
    expect(librariesOf({ needed }, tree)).toEqual(['/two/liba.so']);
  });

  it('in the cache for its own machine alone', () => {
    const tree = { ...inBoth, ...cached({ name: 'liba.so', path: '/two/liba.so', flags: 0x0a03 }) };
    expect(librariesOf({ needed }, tree)).toEqual(['/usr/lib/liba.so']);
  });

  it('with every variant that the processor may choose, and the libraries of each', () => {
    const tree = {
      ...cached(
        { name: 'liba.so', path: '/usr/lib/glibc-hwcaps/x86-64-v3/liba.so', hwcap: 1n << 62n },
        { name: 'liba.so', path: '/usr/lib/liba.so' },
      ),
      '/usr/lib/glibc-hwcaps/x86-64-v3/liba.so': writeElf({ needed: ['libv3.so'] }),
      '/usr/lib/liba.so': library,
      '/usr/lib/libv3.so': library,
    };
    expect(librariesOf({ needed }, tree)).toEqual([
      '/usr/lib/glibc-hwcaps/x86-64-v3/liba.so',
      '/usr/lib/liba.so',
      '/usr/lib/libv3.so',
    ]);
  });

  it('with the variants in a directory of RUNPATH, and on where there are only variants', () => {
    const tree = {
      '/one/glibc-hwcaps/x86-64-v4/liba.so': library,
      '/two/liba.so': library,
      '/usr/lib/liba.so': library,
    };
    expect(librariesOf({ needed, runpath: '/one:/two' }, tree)).toEqual([
      '/one/glibc-hwcaps/x86-64-v4/liba.so',
      '/two/liba.so',
    ]);
  });

  it('in no default directory by a program that says so, nor in the cache of one', () => {
    const tree = {
      ...inBoth,
      ...cached({ name: 'liba.so', path: '/usr/lib/liba.so' }, { name: 'liba.so', path: '/two/liba.so' }),
    };
    expect(librariesOf({ needed, noDefaultLibraries: true }, tree)).toEqual(['/two/liba.so']);
  });
});

describe('the closure of a program of musl', () => {
  const musl = '/lib/ld-musl-x86_64.so.1';
  const tree = {
    [musl]: writeElf({}),
    '/usr/bin/p': writeElf({ interpreter: musl, needed: ['libz.so.1', 'libc.musl-x86_64.so.1', 'libm.so.6'] }),
    '/usr/lib/libz.so.1': writeElf({ needed: ['libc.musl-x86_64.so.1'] }),
    '/opt/lib/libz.so.1': library,
  };

  it('takes the C library for the loader itself and looks in its default directories', () => {
    expect(closureOf('/usr/bin/p', tree)).toMatchObject({
      read: ['/usr/lib/libz.so.1'],
      execute: ['/lib/ld-musl-x86_64.so.1', '/usr/bin/p'],
      problems: [],
    });
  });

  it('looks where its path file says instead', () => {
    const withPath = { ...tree, '/etc/ld-musl-x86_64.path': '/none\n/opt/lib:/usr/lib\n' };
    expect(closureOf('/usr/bin/p', withPath).read).toEqual(['/etc/ld-musl-x86_64.path', '/opt/lib/libz.so.1']);
  });

  it('inherits the RUNPATH of the file that loaded it', () => {
    const program = writeElf({ interpreter: musl, needed: ['liba.so'], runpath: '/app' });
    const all = {
      ...tree,
      '/usr/bin/p': program,
      '/app/liba.so': writeElf({ needed: ['libb.so'] }),
      '/app/libb.so': library,
    };
    expect(closureOf('/usr/bin/p', all)).toMatchObject({ read: ['/app/liba.so', '/app/libb.so'], problems: [] });
  });
});

describe('the closure of a static program', () => {
  it.each([
    ['without a dynamic section', writeElf({ static: true })],
    ['that is position-independent', writeElf({})],
  ])('%s is the program', (_, bytes) => {
    expect(closureOf('/usr/bin/p', { '/usr/bin/p': bytes })).toEqual({
      read: [],
      execute: ['/usr/bin/p'],
      links: [],
      problems: [],
    });
  });
});

describe('the closure of a script', () => {
  const interpreter = writeElf({ static: true });

  it('has the script and its interpreter', () => {
    const tree = {
      '/usr/bin/s': '#!/opt/bin/run -x\n',
      '/opt/bin/run': { linkTo: 'run-2' },
      '/opt/bin/run-2': interpreter,
    };
    expect(closureOf('/usr/bin/s', tree)).toEqual({
      read: [],
      execute: ['/opt/bin/run-2', '/usr/bin/s'],
      links: [{ path: '/opt/bin/run', target: 'run-2' }],
      problems: [],
    });
  });

  it('follows an interpreter that is a script, five times and no more', () => {
    const chain = (length: number): Record<string, Planted> =>
      Object.fromEntries(Array.from({ length }, (_, index) => [`/usr/bin/${index + 1}`, `#!/usr/bin/${index}\n`]));
    expect(closureOf('/usr/bin/5', { ...chain(5), '/usr/bin/0': interpreter }).problems).toEqual([]);
    expect(closureOf('/usr/bin/6', { ...chain(6), '/usr/bin/0': interpreter }).problems).toEqual([
      '/usr/bin/0, which /usr/bin/1 is to be run by, is one interpreter too many',
    ]);
    expect(closureOf('/usr/bin/s', { '/usr/bin/s': '#!/usr/bin/s\n' }).problems).toHaveLength(1);
  });

  it.each([
    ['#!/usr/bin/env node', ['/usr/bin/env', '/usr/bin/node', '/usr/bin/s']],
    ['#!/usr/bin/env -S node --flag', ['/usr/bin/env', '/usr/bin/node', '/usr/bin/s']],
    ['#!/usr/bin/env -S -i A=b -u C node', ['/usr/bin/env', '/usr/bin/node', '/usr/bin/s']],
    ['#!/usr/bin/env -vS node', ['/usr/bin/env', '/usr/bin/node', '/usr/bin/s']],
    ['#!/usr/bin/env --split-string=node -x', ['/usr/bin/env', '/usr/bin/node', '/usr/bin/s']],
    ['#!/usr/bin/env /opt/node', ['/opt/node', '/usr/bin/env', '/usr/bin/s']],
  ])('has what env starts when it begins %s', (line, execute) => {
    const tree = { '/usr/bin/env': interpreter, '/usr/bin/node': interpreter, '/opt/node': interpreter };
    expect(closureOf('/usr/bin/s', { ...tree, '/usr/bin/s': `${line}\n` })).toMatchObject({ execute, problems: [] });
  });

  it.each([
    ['#!/usr/bin/env gone', '/usr/bin/s is to be run by gone, which is not there'],
    ['#!/usr/bin/env node --flag', '/usr/bin/s is to be run by node --flag, which is not there'],
    ['#!/usr/bin/env', '/usr/bin/s is to be run by a program that env does not name, which is not there'],
    ['#!/gone', '/gone, which /usr/bin/s is to be run by, is not there'],
    ['#!/usr/bin/env\r', '/usr/bin/env\r, which /usr/bin/s is to be run by, is not there'],
    ['#!bin/sh', 'bin/sh, which /usr/bin/s is to be run by, is not there'],
    ['#!/etc/plain', '/etc/plain, which /usr/bin/s is to be run by, is not executable'],
    ['#!/etc', '/etc, which /usr/bin/s is to be run by, is not a file'],
  ])('names what is missing when it begins %j', (line, problem) => {
    const tree = { '/usr/bin/env': interpreter, '/usr/bin/node': interpreter, '/etc/plain': { plain: interpreter } };
    expect(closureOf('/usr/bin/s', { ...tree, '/usr/bin/s': `${line}\n` }).problems).toEqual([problem]);
  });

  it.each(['#!/bin/sh', '#!/usr/bin/env bash'])('has an unknown rest for a shell, %s', (line) => {
    const tree = { '/bin/sh': interpreter, '/usr/bin/env': interpreter, '/usr/bin/bash': interpreter };
    expect(closureOf('/usr/bin/s', { ...tree, '/usr/bin/s': `${line}\n` }).problems).toEqual([
      '/usr/bin/s is a shell script, and which programs it starts is not known: they have to be allowed by name',
    ]);
  });
});

describe('what cannot be started is a problem', () => {
  const bit32 = writeElf({});
  bit32[4] = 1;
  const cut = writeElf({}).subarray(0, 100);

  it.each<[string, Planted, string]>([
    ['a text', 'echo', '/p cannot be started: it is neither machine code nor a script with a first line that says so'],
    ['a file that is not executable', { plain: 'x' }, '/p is not executable'],
    ['a directory', emptyDirectory, '/p is not a file'],
    ['a link to nowhere', { linkTo: '/q' }, '/p is not there'],
    ['a 32-bit program', bit32, '/p cannot be started: it is a 32-bit program'],
    ['a program that is cut short', cut, '/p cannot be started: its program headers are not inside the file'],
  ])('%s', (_, planted, problem) => {
    expect(closureOf('/p', { '/p': planted }).problems).toEqual([problem]);
  });
});
