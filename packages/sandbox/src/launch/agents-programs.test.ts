import { describe, expect, it } from 'vitest';

import { withoutAgentsPrograms } from './launch-templates.ts';
import type { CollectedFiles } from '../closure/file-collection.ts';

const files: CollectedFiles = {
  read: ['/lib/libc.so.6', '/work/lib/libplanted.so'],
  execute: ['/usr/bin/git', '/work/bin/tool', '/workshop/bin/saw'],
  links: [{ path: '/usr/local/bin/tool', target: '/work/bin/tool' }],
  problems: ['a known problem'],
};

describe('programs that lie in the workdir', () => {
  it('get no right from a list, and the operator gets a warning', () => {
    expect(withoutAgentsPrograms(files, { places: ['/work'], closed: [], workdirExec: false })).toEqual({
      read: ['/lib/libc.so.6'],
      execute: ['/usr/bin/git', '/workshop/bin/saw'],
      links: files.links,
      problems: [
        'a known problem',
        '/work/bin/tool lies where the command may write, and runs only where that is granted too (workdir_exec)',
      ],
    });
  });

  it('have those of the workdir where it may be executed', () => {
    const left = withoutAgentsPrograms(files, { places: ['/work'], closed: [], workdirExec: true });
    expect(left.execute).toEqual(['/usr/bin/git', '/workshop/bin/saw']);
    expect(left.problems).toEqual(['a known problem']);
  });

  it('keep their rights where nothing of the folder around can be written', () => {
    const left = withoutAgentsPrograms(files, { places: ['/work'], closed: ['/work/bin'], workdirExec: false });
    expect(left).toEqual({ ...files, read: ['/lib/libc.so.6'] });
  });

  it('include those of every other place that may be written', () => {
    const left = withoutAgentsPrograms(files, { places: ['/work', '/workshop'], closed: [], workdirExec: true });
    expect(left.execute).toEqual(['/usr/bin/git']);
  });

  it('do not exist where everything lies elsewhere', () => {
    expect(withoutAgentsPrograms(files, { places: ['/other'], closed: [], workdirExec: false })).toBe(files);
  });
});
