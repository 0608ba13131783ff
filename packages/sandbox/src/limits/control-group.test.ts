import { describe, expect, it } from 'vitest';

import { enterGroups } from './control-group.ts';
import { ownGroupDirectory } from '../own-facts.ts';

const v1 = '35 31 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids';
const v2 = '41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw';

describe('the group of a process', () => {
  it.each([
    ['a unit', '0::/user.slice/a.scope\n', v2, '/sys/fs/cgroup/user.slice/a.scope'],
    ['the root of all', '0::/\n', v2, '/sys/fs/cgroup'],
    [
      'beside groups of version 1',
      '8:pids:/one\n0::/two\n',
      `${v1}\n${v2.replace('cgroup ', 'cgroup/unified ')}`,
      '/sys/fs/cgroup/unified/two',
    ],
    ['below what is mounted', '0::/pod/one/two\n', v2.replace(' / ', ' /pod/one '), '/sys/fs/cgroup/two'],
    ['in a place with a blank', '0::/a\n', v2.replace('/sys/fs/cgroup', '/my\\040groups'), '/my groups/a'],
  ])('appears as %s', (_what, membership, mounts, directory) => {
    expect(ownGroupDirectory({ membership, mounts }, null)).toBe(directory);
  });

  it.each([
    ['version 1 alone', '8:pids:/one\n', v1],
    ['no such file system mounted', '0::/one\n', v1],
    ['another branch mounted', '0::/one\n', v2.replace(' / ', ' /other ')],
    ['a group outside its namespace', '0::/../one\n', v2],
    ['nothing to read', '', ''],
  ])('stays unknown with %s', (_what, membership, mounts) => {
    expect(ownGroupDirectory({ membership, mounts }, null)).toBe(null);
    expect(enterGroups('cgroup-v2', { pid: process.pid, membership, mounts }, ['pids'])).toEqual({
      kind: 'none',
      obstacle: 'no hierarchy of control groups of version 2 holds this process',
    });
  });
});
