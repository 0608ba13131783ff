import { describe, expect, it } from 'vitest';

import { emptyDirectory, type Planted, plantHost } from '../../test/closure-support/planted-host.ts';
import { writeElf } from '../../test/closure-support/write-elf.ts';
import { type CommandFiles, commandFiles } from '../../test/closure-support/collected.ts';

type Tree = Readonly<Record<string, Planted>>;

const loader = '/lib/ld.so';
const machineCode = writeElf({ interpreter: loader });
const shell = { [loader]: writeElf({}), '/bin/sh': machineCode };

function filesOf(program: string, tree: Tree, searchPath: readonly string[] = ['/usr/bin']): CommandFiles {
  return commandFiles(program, plantHost({ ...shell, ...tree }), searchPath);
}

describe('the files of a command', () => {
  it('equal its closure where it has no profile', () => {
    expect(filesOf('/usr/bin/jq', { '/usr/bin/jq': machineCode, '/usr/share/jq/x': 'x' })).toEqual({
      program: '/usr/bin/jq',
      read: [],
      execute: ['/lib/ld.so', '/usr/bin/jq'],
      links: [],
      problems: [],
    });
  });

  it('hold the libraries that the C library opens by itself, where they are', () => {
    const tree = {
      '/usr/bin/jq': machineCode,
      '/usr/lib/libgcc_s.so.1': writeElf({ needed: ['libm.so'] }),
      '/lib/libm.so': writeElf({}),
    };
    expect(filesOf('/usr/bin/jq', tree)).toMatchObject({
      read: ['/lib/libm.so', '/usr/lib/libgcc_s.so.1'],
      problems: [],
    });
  });

  it('say that a shell script starts what cannot be known, unless a profile knows it', () => {
    const tree = {
      '/usr/bin/gunzip': '#!/bin/sh\nexec gzip -d "$@"\n',
      '/usr/bin/start-app': '#!/bin/sh\n',
      '/usr/bin/gzip': machineCode,
    };
    expect(filesOf('/usr/bin/gunzip', tree)).toMatchObject({
      execute: ['/bin/sh', '/lib/ld.so', '/usr/bin/gunzip', '/usr/bin/gzip'],
      problems: [],
    });
    expect(filesOf('/usr/bin/start-app', tree).problems).toEqual([
      '/usr/bin/start-app is a shell script, and which programs it starts is not known: they have to be allowed by name',
    ]);
  });

  it('go with what a program really is, whatever the link to it is called', () => {
    const tree = {
      '/usr/bin/tool': { linkTo: 'git' },
      '/usr/bin/git': machineCode,
      '/usr/share/git-core/templates/x': 'x',
    };
    expect(filesOf('/usr/bin/tool', tree).read).toEqual(['/usr/share/git-core']);
  });

  it('hold what a loaded library opens', () => {
    const tree = {
      '/usr/bin/mail': writeElf({ interpreter: loader, needed: ['libsasl2.so.2'] }),
      '/usr/lib/libsasl2.so.2': writeElf({}),
      '/usr/lib/sasl2/libplain.so': writeElf({ needed: ['libdb.so'] }),
      '/usr/lib/libdb.so': writeElf({}),
    };
    expect(filesOf('/usr/bin/mail', tree).read).toEqual([
      '/usr/lib/libdb.so',
      '/usr/lib/libsasl2.so.2',
      '/usr/lib/sasl2',
    ]);
  });
});

describe('git', () => {
  it.each(['/usr/lib/git-core', '/usr/libexec/git-core'])(
    'starts its helpers in %s, each with its libraries',
    (core) => {
      const tree = {
        '/usr/bin/git': machineCode,
        [`${core}/git-remote-https`]: writeElf({ interpreter: loader, needed: ['libcurl.so'] }),
        [`${core}/git-add`]: { linkTo: '../../bin/git' },
        [`${core}/git-send-email`]: '#!/usr/bin/perl\n',
        [`${core}/mergetools/vim`]: { plain: 'x' },
        '/usr/bin/perl': machineCode,
        '/usr/lib/libcurl.so': writeElf({}),
        '/etc/gitconfig': { plain: 'x' },
        '/usr/share/git-core/templates/description': 'x',
      };
      expect(filesOf('/usr/bin/git', tree)).toMatchObject({
        read: ['/etc/gitconfig', '/usr/lib/libcurl.so', '/usr/share/git-core'],
        execute: ['/bin/sh', '/lib/ld.so', '/usr/bin/git', core],
        problems: [],
      });
    },
  );

  it('lies beside itself in another prefix', () => {
    const tree = {
      '/opt/git/bin/git': machineCode,
      '/opt/git/libexec/git-core/git': machineCode,
      '/opt/git/etc/gitconfig': 'x',
    };
    expect(filesOf('/opt/git/bin/git', tree)).toMatchObject({
      read: ['/opt/git/etc/gitconfig'],
      execute: ['/bin/sh', '/lib/ld.so', '/opt/git/bin/git', '/opt/git/libexec/git-core'],
    });
  });
});

describe('python', () => {
  const debian: Tree = {
    '/usr/bin/python3': { linkTo: 'python3.11' },
    '/usr/bin/python3.11': machineCode,
    '/usr/lib/python3.11/os.py': 'x',
    '/usr/lib/python3.11/sitecustomize.py': { linkTo: '/etc/python3.11/sitecustomize.py' },
    '/etc/python3.11/sitecustomize.py': 'x',
    '/etc/python3.11/secret': 'x',
    '/usr/lib/python3/dist-packages/six.py': 'x',
    '/usr/local/lib/python3.11/dist-packages/x.py': 'x',
    '/usr/lib/python3.11/lib-dynload/_ssl.so': writeElf({ needed: ['libssl.so'] }),
    '/usr/lib/python3.11/lib-dynload/_ssl.so.old': writeElf({ needed: ['other.so'] }),
    '/usr/lib/python3/dist-packages/cffi/_backend.so': writeElf({ needed: ['libffi.so'] }),
    '/usr/lib/libssl.so': writeElf({}),
    '/usr/lib/libffi.so': writeElf({}),
    '/usr/lib/other.so': writeElf({}),
  };
  const debianRead = [
    '/etc/python3.11/sitecustomize.py',
    '/usr/lib/libffi.so',
    '/usr/lib/libssl.so',
    '/usr/lib/python3',
    '/usr/lib/python3.11',
    '/usr/local/lib/python3.11/dist-packages',
  ];

  it('reads its library where the distribution keeps it, and what its modules are linked with', () => {
    expect(filesOf('/usr/bin/python3', debian)).toMatchObject({ read: debianRead, problems: [] });
  });

  it('reads it beside itself when it was built elsewhere', () => {
    const tree = { '/usr/local/bin/python3.12': machineCode, '/usr/local/lib/python3.12/os.py': 'x', ...debian };
    expect(filesOf('/usr/local/bin/python3.12', tree).read).toContain('/usr/local/lib/python3.12');
    expect(filesOf('/usr/local/bin/python3.12', tree).read).not.toContain('/usr/lib/python3.11');
  });

  it('in a virtual environment reads that one and the one it was made of', () => {
    const tree = {
      ...debian,
      '/srv/env/bin/python': { linkTo: '/usr/bin/python3' },
      '/srv/env/pyvenv.cfg': 'home = /usr/bin\n',
      '/srv/env/lib/python3.11/site-packages/x.py': 'x',
      '/srv/env/notes': 'x',
    };
    expect(filesOf('/srv/env/bin/python', tree).read).toEqual([
      ...debianRead.slice(0, 1),
      '/srv/env/lib/python3.11',
      '/srv/env/pyvenv.cfg',
      ...debianRead.slice(1),
    ]);
  });

  it('comes with a script that it runs', () => {
    const tree = { ...debian, '/usr/bin/pip': '#!/usr/bin/python3\n' };
    expect(filesOf('/usr/bin/pip', tree)).toMatchObject({
      read: debianRead,
      execute: ['/lib/ld.so', '/usr/bin/pip', '/usr/bin/python3.11'],
      problems: [],
    });
  });
});

describe('npm', () => {
  const tree: Tree = {
    '/usr/bin/npm': { linkTo: '../lib/node_modules/npm/bin/npm-cli.js' },
    '/usr/lib/node_modules/npm/bin/npm-cli.js': '#!/usr/bin/env node\n',
    '/usr/bin/node': machineCode,
    '/usr/bin/env': machineCode,
    '/usr/lib/secret': 'x',
    '/opt/tools/node_modules/npm/bin/npm-cli.js': '#!/usr/bin/node\n',
    '/opt/tools/secret': 'x',
  };

  it('reads its own modules and starts node and a shell', () => {
    expect(filesOf('/usr/bin/npm', tree)).toEqual({
      program: '/usr/bin/npm',
      read: ['/usr/lib/node_modules'],
      execute: ['/bin/sh', '/lib/ld.so', '/usr/bin/env', '/usr/bin/node', '/usr/lib/node_modules/npm/bin/npm-cli.js'],
      links: [{ path: '/usr/bin/npm', target: '../lib/node_modules/npm/bin/npm-cli.js' }],
      problems: [],
    });
  });

  it('reads only the modules it lies in', () => {
    const { read } = filesOf('/opt/tools/node_modules/npm/bin/npm-cli.js', tree);
    expect(read).toEqual(['/opt/tools/node_modules', '/usr/lib/node_modules']);
  });
});

describe('a program of npm', () => {
  it('reads the packages that it lies among, wherever npm installed it', () => {
    const tree: Tree = {
      '/usr/local/bin/tool': { linkTo: '../lib/node_modules/tool/dist/cli.js' },
      '/usr/local/lib/node_modules/tool/dist/cli.js': '#!/usr/bin/env node\n',
      '/usr/local/lib/secret': 'x',
      '/usr/bin/node': machineCode,
      '/usr/bin/env': machineCode,
    };
    expect(filesOf('/usr/local/bin/tool', tree)).toMatchObject({ read: ['/usr/local/lib/node_modules'], problems: [] });
  });

  it('reads nothing around it when another program runs it', () => {
    const tree: Tree = { '/opt/node_modules/tool/cli': '#!/usr/bin/awk\n', '/usr/bin/awk': machineCode };
    expect(filesOf('/opt/node_modules/tool/cli', tree).read).toEqual([]);
  });
});

describe('a compiler', () => {
  it('starts its passes, the assembler and the linker, and reads the directory that holds the start files', () => {
    const tree = {
      '/usr/bin/cc': { linkTo: '/etc/alternatives/cc' },
      '/etc/alternatives/cc': { linkTo: '/usr/bin/gcc' },
      '/usr/bin/gcc': { linkTo: 'x86_64-linux-gnu-gcc-12' },
      '/usr/bin/x86_64-linux-gnu-gcc-12': machineCode,
      '/usr/bin/as': machineCode,
      '/usr/bin/ld': machineCode,
      '/usr/lib/gcc/x86_64-linux-gnu/12/cc1': writeElf({ interpreter: loader, needed: ['libmpc.so'] }),
      '/usr/lib/x86_64-linux-gnu/crt1.o': 'x',
      '/usr/lib/x86_64-linux-gnu/libmpc.so': writeElf({}),
      '/usr/lib/libmpc.so': writeElf({}),
      '/usr/lib/other/x': 'x',
      '/usr/include/stdio.h': 'x',
    };
    expect(filesOf('/usr/bin/cc', tree)).toMatchObject({
      read: ['/usr/include', '/usr/lib/x86_64-linux-gnu'],
      execute: ['/lib/ld.so', '/usr/bin/as', '/usr/bin/ld', '/usr/bin/x86_64-linux-gnu-gcc-12', '/usr/lib/gcc'],
      problems: [],
    });
  });
});

describe.each([
  ['tar', ['/bin/sh', '/lib/ld.so', '/usr/bin/gzip', '/usr/bin/tar', '/usr/bin/xz']],
  ['make', ['/bin/sh', '/lib/ld.so', '/usr/bin/make']],
])('%s', (name, execute) => {
  it('starts what it cannot do without', () => {
    const tree = { [`/usr/bin/${name}`]: machineCode, '/usr/bin/gzip': machineCode, '/usr/bin/xz': machineCode };
    expect(filesOf(`/usr/bin/${name}`, tree).execute).toEqual(execute);
  });
});

describe('a pyenv shim', () => {
  const shim = (root: string): string =>
    [
      '#!/usr/bin/env bash',
      'set -e',
      'program="${0##*/}"',
      `export PYENV_ROOT="${root}"`,
      `exec "${root}/libexec/pyenv" exec "$program" "$@"`,
      '',
    ].join('\n');
  const tree: Tree = {
    '/home/a/.pyenv/shims/python3': shim('/home/a/.pyenv'),
    '/home/a/.pyenv/version': '3.12 # the newest\n3.9.1\n',
    '/home/a/.pyenv/versions/3.12.9/bin/python3': machineCode,
    '/home/a/.pyenv/versions/3.12.10/bin/python3': machineCode,
    '/home/a/.pyenv/versions/3.12.10/lib/python3.12/os.py': 'x',
    '/home/a/.pyenv/versions/3.9.1/bin/python3': machineCode,
    '/home/a/.pyenv/versions/3.9.1/bin/old': machineCode,
    '/home/a/secret': 'x',
    '/usr/bin/python3': machineCode,
    '/usr/bin/env': machineCode,
    '/usr/bin/bash': machineCode,
  };
  const searchPath = ['/home/a/.pyenv/shims', '/usr/bin'];

  it('stands for the interpreter of the global version, which takes its place; pyenv is never run', () => {
    expect(filesOf('/home/a/.pyenv/shims/python3', tree, searchPath)).toEqual({
      program: '/home/a/.pyenv/versions/3.12.10/bin/python3',
      read: ['/home/a/.pyenv/versions/3.12.10/lib/python3.12'],
      execute: ['/home/a/.pyenv/versions/3.12.10/bin/python3', '/lib/ld.so'],
      links: [{ path: '/home/a/.pyenv/shims/python3', target: '/home/a/.pyenv/versions/3.12.10/bin/python3' }],
      problems: [],
    });
  });

  it('stands for the next version that has the program', () => {
    const old = { ...tree, '/home/a/.pyenv/shims/old': shim('/home/a/.pyenv') };
    expect(filesOf('/home/a/.pyenv/shims/old', old, searchPath).program).toBe('/home/a/.pyenv/versions/3.9.1/bin/old');
  });

  it.each<[string, Tree]>([
    ['says so', { '/home/a/.pyenv/version': 'system\n' }],
    ['is not set', { '/home/a/.pyenv/version': emptyDirectory }],
  ])('stands for the next one on the search path when the version %s', (_, change) => {
    const { program, problems } = filesOf('/home/a/.pyenv/shims/python3', { ...tree, ...change }, searchPath);
    expect({ program, problems }).toEqual({ program: '/usr/bin/python3', problems: [] });
  });

  it.each(['4.0', '../../../../usr', '3.1', ''])(
    'gives a problem when the version is %j, and starts nothing',
    (version) => {
      const files = filesOf('/home/a/.pyenv/shims/python3', { ...tree, '/home/a/.pyenv/version': version }, searchPath);
      expect(files).toEqual({
        program: '/home/a/.pyenv/shims/python3',
        read: [],
        execute: [],
        links: [],
        problems: [
          '/home/a/.pyenv/shims/python3 is a pyenv shim, and /home/a/.pyenv/version names no version that has it',
        ],
      });
    },
  );

  it('leads to its python where a script asks env for it', () => {
    const script = { ...tree, '/usr/bin/tool': '#!/usr/bin/env python3\n' };
    const files = filesOf('/usr/bin/tool', script, searchPath);
    expect(files).toMatchObject({ program: '/usr/bin/tool', problems: [] });
    expect(files.execute).toContain('/home/a/.pyenv/versions/3.12.10/bin/python3');
  });

  it.each([
    ['has another last line', shim('/home/a/.pyenv').replace('exec "$program"', 'which "$program"')],
    ['computes its root', shim('/home/$USER/.pyenv')],
  ])('counts as a shell script like any other when it %s', (_, text) => {
    const changed = { ...tree, '/home/a/.pyenv/shims/python3': text };
    const { program, problems } = filesOf('/home/a/.pyenv/shims/python3', changed, searchPath);
    expect(program).toBe('/home/a/.pyenv/shims/python3');
    expect(problems).toEqual([
      '/home/a/.pyenv/shims/python3 is a shell script, and which programs it starts is not known: they have to be allowed by name',
    ]);
  });
});
