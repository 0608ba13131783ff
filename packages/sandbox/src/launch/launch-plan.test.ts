import { describe, expect, it } from 'vitest';

import {
  barePlan as least,
  type LaunchPlan,
  encodeLaunchPlan,
  mountAttribute,
  planFault,
  UnfitPlan,
} from './launch-plan.ts';

function words(plan: LaunchPlan): string[] {
  return encodeLaunchPlan(plan).toString().split('\0');
}

describe('the bytes of a launch plan', () => {
  it('hold words, each ended by a NUL', () => {
    expect(encodeLaunchPlan({ ...least, cwd: '/work' }).toString()).toBe('svc-launch-plan\x001\0cwd\0/work\0end\0');
  });

  it('hold every operation once, in the order in which they are carried out', () => {
    const plan: LaunchPlan = {
      identity: { uid: 1000, gid: 1001 },
      cgroups: { joins: ['/cg/pids/tasks', '/cg/memory/tasks'], room: { count: '/cg/pids/pids.current', most: 9 } },
      users: { programs: '/proc/7/fd/20', uid: 0, gid: 2, mounts: '/proc/7/fd/21', processes: 130, around: 1 },
      namespaces: ['user', 'mount', 'pid', 'ipc', 'net', 'uts', 'cgroup'],
      inside: { uid: 5, gid: 6 },
      hostname: 'capsule',
      network: { kind: 'listen', port: 3128 },
      root: [
        { kind: 'tmp', attributes: mountAttribute.noSuid | mountAttribute.noDev, bytes: 4096, target: '/tmp' },
        { kind: 'bind', attributes: mountAttribute.readOnly | mountAttribute.noExec, source: '/usr', target: '/usr' },
        { kind: 'tmpfs', attributes: mountAttribute.noSymlinks, bytes: 8192, target: '/dev' },
        { kind: 'proc', attributes: 15, target: '/proc' },
        { kind: 'directory', target: '/run' },
        { kind: 'symlink', text: 'usr/bin', target: '/bin' },
      ],
      cwd: '/work',
      limits: [{ resource: 7, soft: 1024n, hard: 2n ** 64n - 1n }],
      execs: { socket: 7, names: ['git', './deploy'] },
      landlock: {
        handled: { filesystem: 0xffffn, network: 3n, scope: 2n },
        paths: [{ rights: 12n, path: '/usr' }],
        ports: [{ rights: 2n, port: 443 }],
      },
    };
    expect(words(plan)).toEqual(
      [
        'svc-launch-plan 1 cgroup /cg/pids/tasks cgroup /cg/memory/tasks room /cg/pids/pids.current 9 id 1000 1001',
        'users /proc/7/fd/20 0 2 mounts /proc/7/fd/21 processes 130 around 1',
        'unshare user,mount,pid,ipc,net,uts,cgroup map 5 6 hostname capsule listen 3128',
        'tmp 6 4096 /tmp bind 9 /usr /usr tmpfs 2097152 8192 /dev proc 15 /proc directory /run symlink usr/bin /bin',
        'cwd /work limit 7 1024 18446744073709551615 execs 7 program git program ./deploy',
        'landlock 65535 3 2 allow 12 /usr port 2 443 end ',
      ]
        .join(' ')
        .split(' '),
    );
  });

  it('hold a loopback where one is wanted', () => {
    expect(words({ ...least, namespaces: ['net'], network: { kind: 'loopback' } })).toEqual(
      'svc-launch-plan 1 unshare net loopback cwd / end '.split(' '),
    );
  });

  it('cannot hold a path with a NUL in it', () => {
    expect(() => encodeLaunchPlan({ ...least, cwd: '/work\0end' })).toThrow('a word of a launch plan holds a NUL');
  });

  it('cannot be more than the helper reads', () => {
    const most = { ...least, root: [{ kind: 'directory', target: `/${'d'.repeat(1_048_536)}` }] } as const;
    expect([encodeLaunchPlan(most).length, planFault(most)]).toEqual([1_048_576, null]);
    const more = { ...least, root: [{ kind: 'directory', target: `/${'é'.repeat(524_268)}d` }] } as const;
    const fault =
      'the paths of what it is granted and of what its programs need take 1048577 bytes, and a launch has room for 1048576: grant directories instead of what is in them';
    expect(planFault(more)).toBe(fault);
    expect(() => encodeLaunchPlan(more)).toThrow(new UnfitPlan(fault));
  });
});
