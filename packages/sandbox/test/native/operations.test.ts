import { mkdirSync, readlinkSync, rmdirSync } from 'node:fs';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare, type LaunchPlan, type Namespace } from '../../src/launch/launch-plan.ts';
import { type NativeEnd, launchSync, users } from './support/launch.ts';
import { needs } from './support/needs.ts';

const ordinaryUid = process.getuid?.() === 0 ? 1000 : process.getuid?.();

const cgroupFolders = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup/unified', '/sys/fs/cgroup'];

function run(plan: Partial<LaunchPlan>, script: string, user?: number): NativeEnd {
  return launchSync({ plan: { ...bare, ...plan }, user, program: ['/usr/bin/bash', '-c', script] });
}

describe('the operation', () => {
  it('id makes another user without groups and without capabilities', (context) => {
    needs(context, 'superuser');
    const { stdout } = run(
      { identity: { uid: 1234, gid: 1235 } },
      'grep -E "^(Uid|Gid|Groups|CapBnd):" /proc/self/status',
    );
    expect(stdout).toBe(
      'Uid:\t1234\t1234\t1234\t1234\nGid:\t1235\t1235\t1235\t1235\nGroups:\t \nCapBnd:\t0000000000000000\n',
    );
  });

  it('id fails for an ordinary user', (context) => {
    needs(context);
    expect(run({ identity: { uid: 7, gid: 7 } }, 'true', ordinaryUid)).toMatchObject({
      code: 125,
      status: 'id 1 setgroups\n',
    });
  });

  it('id works together with a user namespace', (context) => {
    needs(context, 'superuser', 'sealed');
    const plan = { identity: { uid: 1000, gid: 1000 }, namespaces: ['user'] } as const;
    expect(run(plan, 'id -u; id -G; cat /proc/self/uid_map').stdout).toMatch(/^1000\n1000\n +1000 +1000 +1\n$/);
  });

  describe('cgroup', () => {
    let group: string | null;
    beforeEach((context) => {
      needs(context, 'superuser');
      group = makeCgroup();
      context.skip(group === null, 'needs a control group hierarchy that can be written to');
    });
    afterEach(() => {
      if (group !== null) rmdirSync(group);
    });

    it('joins the group, also one that the user of id could not join', () => {
      const procs = `${group}/cgroup.procs`;
      const plan = { cgroups: { joins: [procs], room: null }, identity: { uid: 1000, gid: 1000 } };
      expect(run(plan, 'cat /proc/self/cgroup; id -u').stdout).toMatch(/\/svc-native-\d+\n(.*\n)*1000\n$/);
    });

    it('fails without the group', () => {
      const procs = `${group}/none/cgroup.procs`;
      const cgroups = { joins: [procs], room: null };
      expect(run({ cgroups }, 'true')).toMatchObject({ code: 125, status: `cgroup 2 ${procs}\n` });
    });
  });
});

describe.each(users)('the operation, carried out by %s,', (_name, user) => {
  beforeEach((context) => needs(context, 'sealed'));

  const kinds: readonly (readonly [Namespace, string])[] = [
    ['mount', 'mnt'],
    ['ipc', 'ipc'],
    ['net', 'net'],
    ['uts', 'uts'],
    ['cgroup', 'cgroup'],
  ];

  it.each(kinds)('unshare enters a namespace %s of its own and leaves the others', (namespace, name) => {
    const names = ['user', 'pid', ...kinds.map(([, name]) => name)];
    const script = `cd /proc/self/ns; readlink ${names.join(' ')}`;
    const inside = run({ namespaces: ['user', namespace] }, script, user)
      .stdout.trimEnd()
      .split('\n');
    const changed = names.filter((name, at) => inside[at] !== readlinkSync(`/proc/self/ns/${name}`));
    expect(changed).toEqual(['user', name]);
  });

  it('unshare enters a namespace pid of its own, in which the program is process 2', () => {
    expect(run({ namespaces: ['user', 'pid'] }, 'echo $$ $PPID', user).stdout).toBe('2 1\n');
  });

  it('map says who one is inside; without it one keeps the numbers', () => {
    const script = 'id -u; id -g; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups';
    const outside = user ?? process.getuid?.();
    const lines = (uid: number | undefined, gid: number | undefined): RegExp =>
      new RegExp(`^${uid}\n${gid}\n +${uid} +${outside} +1\n +${gid} +${outside} +1\ndeny\n$`);
    expect(run({ namespaces: ['user'] }, script, user).stdout).toMatch(lines(outside, outside));
    expect(run({ namespaces: ['user'], inside: { uid: 5, gid: 6 } }, script, user).stdout).toMatch(lines(5, 6));
    expect(run({ namespaces: ['user'], inside: { uid: 0, gid: 0 } }, script, user).stdout).toMatch(lines(0, 0));
  });

  it('hostname names the host inside', () => {
    expect(run({ namespaces: ['user', 'uts'], hostname: 'capsule' }, 'uname -n', user).stdout).toBe('capsule\n');
    const longest = 'h'.repeat(64);
    expect(run({ namespaces: ['user', 'uts'], hostname: longest }, 'uname -n', user).stdout).toBe(`${longest}\n`);
  });

  it('loopback brings up the loopback of the own network; without it nothing is reached', () => {
    const script = 'echo > /dev/tcp/127.0.0.1/9';
    const namespaces: readonly Namespace[] = ['user', 'net'];
    expect(run({ namespaces }, script, user).stderr).toMatch(/Network is unreachable/);
    expect(run({ namespaces, network: { kind: 'loopback' } }, script, user).stderr).toMatch(/Connection refused/);
  });

  it('unshare without user is for root alone', () => {
    const { code, status } = run({ namespaces: ['mount', 'ipc', 'net', 'uts', 'cgroup'] }, 'true', user ?? ordinaryUid);
    expect({ code, status }).toEqual({ code: 125, status: 'unshare 1 \n' });
  });
});

function makeCgroup(): string | null {
  for (const folder of cgroupFolders) {
    const group = `${folder}/svc-native-${process.pid}`;
    try {
      mkdirSync(group);
      return group;
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'EROFS', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return null;
}
