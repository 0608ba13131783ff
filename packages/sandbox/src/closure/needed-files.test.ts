import { describe, expect, it } from 'vitest';

import { plantHost } from '../../test/closure-support/planted-host.ts';
import { writeElf } from '../../test/closure-support/write-elf.ts';
import { neededFiles } from './needed-files.ts';

describe('the files that a process needs', () => {
  it('include the baseline and those of each program, none twice', () => {
    const host = plantHost({
      '/lib': { linkTo: 'usr/lib' },
      '/usr/lib/ld.so': writeElf({}),
      '/usr/lib/liba.so': writeElf({}),
      '/usr/bin/jq': writeElf({ interpreter: '/lib/ld.so', needed: ['liba.so'] }),
      '/usr/bin/git': writeElf({ interpreter: '/lib/ld.so', needed: ['liba.so', 'libgone.so'] }),
      '/usr/share/git-core/templates/x': 'x',
      '/etc/passwd': 'x',
    });
    expect(neededFiles(['/usr/bin/jq', '/usr/bin/git', '/usr/bin/gone'], host, ['/usr/bin'])).toEqual({
      read: ['/etc/passwd', '/usr/lib/liba.so', '/usr/share/git-core'],
      execute: ['/usr/bin/git', '/usr/bin/jq', '/usr/lib/ld.so'],
      links: [{ path: '/lib', target: 'usr/lib' }],
      problems: ['/usr/bin/git needs the library libgone.so, which is not there', '/usr/bin/gone is not there'],
    });
  });

  it('include what is granted besides: files to read, and folders of programs to run', () => {
    const host = plantHost({
      '/usr/lib/ld.so': writeElf({}),
      '/usr/bin/p': writeElf({ interpreter: '/usr/lib/ld.so' }),
      '/srv/data/x': 'x',
      '/opt/bin/q': 'q',
    });
    const granted = { reads: ['/srv/data', '/srv/gone'], trees: ['/usr', '/opt/bin'] };
    expect(neededFiles(['/usr/bin/p'], host, [], granted)).toMatchObject({
      read: ['/srv/data'],
      execute: ['/opt/bin', '/usr'],
    });
  });

  it('include places of the host with the libraries of their programs, and not what a link there leads to', () => {
    const host = plantHost({
      '/usr/lib/ld.so': writeElf({}),
      '/usr/lib/libz.so': writeElf({}),
      '/opt/sdk/bin/tool': writeElf({ interpreter: '/usr/lib/ld.so', needed: ['libz.so'] }),
      '/opt/sdk/bin/odd': writeElf({ interpreter: '/usr/lib/ld.so', needed: ['libgone.so'] }),
      '/opt/sdk/lib/data': 'data',
      '/opt/link': { linkTo: '/srv/secret' },
      '/srv/secret/key': 'key',
    });
    const granted = { hostReads: ['/opt/sdk', '/opt/link', '/opt/gone'] };
    expect(neededFiles([], host, [], granted)).toMatchObject({
      read: ['/usr/lib/libz.so'],
      execute: ['/opt/sdk', '/usr/lib/ld.so'],
      problems: [],
    });
  });

  it('need one parse: the second time svc reads nothing', () => {
    const count = { bytes: 0 };
    const host = plantHost(
      { '/usr/lib/ld.so': writeElf({}), '/usr/bin/p': writeElf({ interpreter: '/usr/lib/ld.so' }) },
      count,
    );
    const first = neededFiles(['/usr/bin/p'], host, []);
    const { bytes } = count;
    expect(bytes).toBeGreaterThan(0);
    expect(neededFiles(['/usr/bin/p'], host, [])).toEqual(first);
    expect(count.bytes).toBe(bytes);
  });

  it('need another parse when a file has changed', () => {
    const tree = { '/usr/lib/ld.so': writeElf({}), '/usr/lib/liba.so': writeElf({}) };
    const program = (needed: string[]) => ({
      ...tree,
      '/usr/bin/p': writeElf({ interpreter: '/usr/lib/ld.so', needed }),
    });
    const before = plantHost(program([]));
    const after = plantHost(program(['liba.so']));
    let changed = false;
    const host = {
      ...before,
      open: (path: string) => {
        const file = (changed ? after : before).open(path);
        return file === null ? null : { ...file, identity: `${file.identity} ${changed}` };
      },
    };
    expect(neededFiles(['/usr/bin/p'], host, []).read).toEqual([]);
    changed = true;
    expect(neededFiles(['/usr/bin/p'], host, []).read).toEqual(['/usr/lib/liba.so']);
  });
});
