import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type RootStep, mountAttribute } from '../../src/launch/launch-plan.ts';
import { type NativeEnd, launchSync, users } from './support/launch.ts';
import { needs } from './support/needs.ts';
import { composed } from './support/plans.ts';

const { readOnly, noSuid, noDev, noExec, noSymlinks } = mountAttribute;

describe.each(users)('a root composed by %s', (_name, user) => {
  let folder: string;
  beforeEach((context) => {
    needs(context, 'sealed');
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-root-')));
    if (user !== undefined) chownSync(folder, user, user);
    chmodSync(folder, 0o755);
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function run(steps: readonly RootStep[], script: string): NativeEnd {
    return launchSync({ plan: composed(steps), user, program: ['/usr/bin/sh', '-c', script] });
  }

  /** A directory or a file on the host that the launching user owns. */
  function plant(name: string, text: string | null = null, mode = 0o755): string {
    const path = join(folder, name);
    if (text === null) mkdirSync(path);
    else writeFileSync(path, text);
    chmodSync(path, mode);
    if (user !== undefined) chownSync(path, user, user);
    return path;
  }

  const bindAt = (source: string, target: string, attributes = 0): RootStep => ({
    kind: 'bind',
    attributes,
    source,
    target,
  });
  const directory = (target: string): RootStep => ({ kind: 'directory', target });

  it('holds what the plan says and nothing else', () => {
    const steps = [directory('/a/b'), { kind: 'symlink', text: '/a/b', target: '/c/link' } as const];
    const script = 'cd / && find . -path ./usr -prune -o -path ./proc -prune -o -print | sort; readlink /c/link';
    expect(run(steps, script)).toMatchObject({
      stdout: './.\n'.slice(2) + './a\n./a/b\n./bin\n./c\n./c/link\n./lib\n./lib64\n./tmp\n/a/b\n',
      stderr: '',
      code: 0,
    });
  });

  it('cannot be written to itself, whatever the user', () => {
    const script = 'touch /new; mkdir /usr2; rm /bin; test -w /';
    const { stderr, code } = run([], script);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(3);
    expect(code).toBe(1);
  });

  it('has directories of mode 0755 whatever the mask of the caller, and leaves the mask alone', () => {
    const through = ['/usr/bin/sh', '-c', 'umask 077; exec "$@"', 'sh'] as const;
    const program = ['/usr/bin/sh', '-c', 'stat -c %a / /a /a/b /tmp; umask'] as const;
    expect(launchSync({ plan: composed([directory('/a/b')]), user, through, program }).stdout).toBe(
      '755\n755\n755\n1777\n0077\n',
    );
  });

  describe('binds', () => {
    it('a directory that can be written to', () => {
      const work = plant('work');
      expect(run([bindAt(work, '/w', noSuid | noDev)], 'echo text > /w/file')).toMatchObject({ stderr: '', code: 0 });
      expect(statSync(join(work, 'file')).size).toBe(5);
    });

    it('read-only, also what is mounted below', () => {
      const work = plant('work');
      const { stderr } = run([bindAt(work, '/w', readOnly)], 'echo text > /w/file');
      expect(stderr).toMatch(/Read-only file system/);
      expect(existsSync(join(work, 'file'))).toBe(false);
      const script = 'cut -d " " -f 5,6 /proc/self/mountinfo | grep "^/d"; cat /d/null';
      const below = run([bindAt('/dev', '/d', readOnly | noDev)], script);
      expect(below.stdout).toMatch(/^(\/d(\/\S+)? ro,(\w+,)*nodev,\S+\n){2,}$/);
      expect(below.stderr).toMatch(/null: Permission denied/);
    });

    it('without execution, where the plan says so', () => {
      const work = plant('work');
      writeFileSync(join(work, 'tool'), '#!/bin/sh\necho ran\n');
      chmodSync(join(work, 'tool'), 0o755);
      expect(run([bindAt(work, '/w', noExec)], '/w/tool').code).toBe(126);
      expect(run([bindAt(work, '/w')], '/w/tool').stdout).toBe('ran\n');
    });

    it('without following links, where the plan says so', () => {
      const work = plant('work');
      symlinkSync('/etc', join(work, 'link'));
      expect(run([bindAt(work, '/w', noSymlinks)], 'ls /w/link/').stderr).toMatch(/Too many levels of symbolic links/);
      expect(run([bindAt(work, '/w')], 'ls /w/link/').stderr).toMatch(/No such file or directory/);
    });

    it('with exactly the attributes of the plan', () => {
      const work = plant('work');
      const all = bindAt(work, '/all', readOnly | noSuid | noDev | noExec | noSymlinks);
      const script = 'sed -En "s|.* (/all\\|/none) ([^ ]*),relatime.*|\\1 \\2|p" /proc/self/mountinfo';
      const { stdout } = run([all, bindAt(work, '/none')], script);
      expect(stdout).toBe('/all ro,nosuid,nodev,noexec\n/none rw\n');
    });

    it('a file, and over a file that a directory holds already', () => {
      const [text, other] = [plant('text', 'inside\n'), plant('other', 'other\n')];
      const steps = [bindAt(text, '/etc/deep/text', readOnly), bindAt(other, '/usr/bin/true', readOnly)];
      expect(run(steps, 'cat /etc/deep/text /usr/bin/true').stdout).toBe('inside\nother\n');
    });

    it('in the order of the plan, so that a later step covers an earlier one', () => {
      const [first, second] = [plant('first'), plant('second')];
      writeFileSync(join(first, 'name'), 'first\n');
      writeFileSync(join(second, 'name'), 'second\n');
      expect(run([bindAt(first, '/w'), bindAt(second, '/w')], 'cat /w/name').stdout).toBe('second\n');
      expect(run([bindAt(second, '/w'), bindAt(first, '/w')], 'cat /w/name').stdout).toBe('first\n');
    });

    it('into what covers a directory, not into what is covered, also for several files of one directory', () => {
      const cover = plant('cover');
      const steps = [bindAt('/etc/passwd', '/w/one'), bindAt(cover, '/w'), bindAt('/etc/group', '/w/two')];
      expect(run(steps, 'ls /w').stdout).toBe('two\n');
      const beside = [bindAt('/etc/passwd', '/w/one'), bindAt('/etc/group', '/w/two'), bindAt('/etc/hosts', '/v/two')];
      expect(run(beside, 'ls /v /w').stdout).toBe('/v:\ntwo\n\n/w:\none\ntwo\n');
      const work = plant('work');
      symlinkSync('/w', join(work, 'self'));
      const covered = [bindAt(work, '/w'), bindAt(plant('other'), '/w/self'), bindAt('/etc/group', '/w/two')];
      expect(run(covered, 'ls /w').stdout).toBe('two\n');
    });

    it('what the host has in a place that the plan covers: sources are opened before anything is mounted', () => {
      const work = plant('work');
      writeFileSync(join(work, 'name'), 'kept\n');
      const steps: RootStep[] = [{ kind: 'tmp', attributes: 0, bytes: 4096, target: '/tmp' }, bindAt(work, '/tmp/w')];
      expect(run(steps, 'cat /tmp/w/name').stdout).toBe('kept\n');
    });

    it('more sources than a process may usually have open, without raising that for the program', () => {
      const work = plant('work');
      const steps = Array.from({ length: 600 }, (_, at) => bindAt(work, `/many/${at}`));
      const through = ['/usr/bin/sh', '-c', 'ulimit -Sn 256; exec "$@"', 'sh'] as const;
      const program = ['/usr/bin/sh', '-c', 'ls /many | wc -l; ulimit -Sn'] as const;
      expect(launchSync({ plan: composed(steps), user, through, program })).toMatchObject({
        stdout: '600\n256\n',
        code: 0,
      });
    });

    it('nothing through a symbolic link, as the last part or on the way: it may have been planted', () => {
      const work = plant('work');
      mkdirSync(join(folder, 'real'));
      symlinkSync('/etc', join(work, 'link'));
      symlinkSync(work, join(folder, 'way'));
      for (const source of [join(work, 'link'), join(folder, 'way/link'), join(folder, 'way'), '/proc/self/cwd']) {
        expect(run([bindAt(source, '/w')], 'true')).toMatchObject({ code: 125, status: `root 40 ${source}\n` });
      }
    });

    it.each([
      ['a source that is missing', '/nonexistent', '/w', 'root 2 /nonexistent\n'],
      ['a directory over a file', '/usr/lib', '/usr/bin/env', 'root 20 /usr/bin/env\n'],
      ['a file over a directory', '/usr/bin/env', '/usr/lib', 'root 22 /usr/lib\n'],
      ['a target below a file', '/usr/lib', '/usr/bin/env/x', 'root 20 /usr/bin/env\n'],
      ['a target in a read-only place', '/usr/lib', '/usr/new/x', 'root 30 /usr/new\n'],
    ])('nothing with %s', (_what, source, target, status) => {
      expect(run([bindAt(source, target)], 'true')).toMatchObject({ code: 125, stdout: '', stderr: '', status });
    });
  });

  describe('leads nowhere out:', () => {
    it('a target through a link stays inside', () => {
      const work = plant('work');
      const victim = plant('victim');
      symlinkSync(victim, join(work, 'absolute'));
      symlinkSync('../../../../../../../..', join(work, 'up'));
      const steps = [bindAt(work, '/w'), { kind: 'directory', target: `/w/up/made` } as const];
      expect(run(steps, 'ls -d /made').stdout).toBe('/made\n');
      expect(existsSync('/made')).toBe(false);
      // Inside there is no such directory, so the link leads nowhere rather than to the host's.
      expect(run([bindAt(work, '/w'), directory('/w/absolute/made')], 'true')).toMatchObject({ code: 125 });
      expect(existsSync(join(victim, 'made'))).toBe(false);
    });

    it('no mount of the host is left', () => {
      const script = 'cut -d " " -f 5 /proc/self/mountinfo | sort';
      const { stdout } = run([], script);
      expect(stdout).toBe('/\n/proc\n/tmp\n/usr\n');
      const up = run([], 'cd /; cd ../../../..; ls -A; cd /proc/self/root/../..; ls -d etc');
      expect(up).toMatchObject({ stdout: 'bin\nlib\nlib64\nproc\ntmp\nusr\n' });
    });

    it('what is mounted inside does not show outside', () => {
      const work = plant('work');
      run([bindAt(work, '/w'), { kind: 'tmpfs', attributes: 0, bytes: 4096, target: '/w/inner' }], 'true');
      const { stdout } = run([bindAt(work, '/w')], 'grep -c /w/inner /proc/self/mountinfo');
      expect(stdout).toBe('0\n');
    });

    it('every mount inside is private', () => {
      const work = plant('work');
      const { stdout } = run([bindAt(work, '/w'), bindAt('/dev', '/dev')], 'cat /proc/self/mountinfo');
      expect(stdout.split('\n').length).toBeGreaterThan(6);
      expect(stdout).not.toMatch(/shared:|master:/);
    });

    it('process 1 hides its files, its memory and the program it is from', () => {
      const script = 'cd /proc/1; readlink -v exe cwd root; ls fd; ls map_files; cat environ maps mem';
      const { stdout, stderr } = run([], script);
      expect(stdout).toBe('');
      for (const name of ['exe', 'cwd', 'root', 'map_files', 'environ', 'maps', 'mem']) {
        expect(stderr).toMatch(new RegExp(`${name}\\W.*Permission denied`));
      }
    });
  });

  it('has file systems in memory of a size and with a number of files', () => {
    const steps: RootStep[] = [
      { kind: 'tmpfs', attributes: noSuid, bytes: 65_536, target: '/small' },
      { kind: 'tmp', attributes: 0, bytes: 8_388_608, target: '/large' },
    ];
    const script =
      'stat -c %a /small /large; stat -f -c "%b %c %S" /small /large; ' +
      'head -c 100000 /dev/zero > /small/file; wc -c < /small/file';
    const { stdout, stderr } = run([...steps, bindAt('/dev', '/dev')], script);
    expect(stdout).toBe('755\n1777\n16 1024 4096\n2048 2048 4096\n65536\n');
    expect(stderr).toMatch(/No space left on device/);
  });

  it('has a proc of its own processes and nothing else of the kernel', () => {
    const { stdout, stderr } = run(
      [],
      'ls /proc | grep -v "^[0-9]"; cat /proc/sys/kernel/core_pattern; echo x > /proc/self/comm',
    );
    expect(stdout).toBe('self\nthread-self\n');
    expect(stderr).toMatch(/core_pattern: No such file[^]*comm: Read-only file system/);
  });

  it('equals that of the host without a step that makes one', () => {
    const plan = composed([], { root: [] });
    const { stdout } = launchSync({ plan, user, program: ['/usr/bin/ls', '-d', '/etc/passwd', folder] });
    expect(stdout).toBe(`/etc/passwd\n${folder}\n`);
  });
});

describe('a root composed without a user namespace', () => {
  beforeEach((context) => needs(context, 'superuser', 'sealed'));

  const plan = composed([], { namespaces: ['mount', 'pid', 'ipc', 'net', 'uts', 'cgroup'] });

  it('leaves its program at most what one with such a namespace leaves', () => {
    const script = 'cat /proc/self/uid_map; ls -A /; grep CapBnd /proc/self/status; readlink /proc/1/exe; touch /x';
    const { stdout, stderr } = launchSync({ plan, program: ['/usr/bin/sh', '-c', script] });
    expect(stdout).toMatch(/^ +0 +0 +4294967295\nbin\nlib\nlib64\nproc\ntmp\nusr\nCapBnd:\t0{16}\n$/);
    expect(stderr).toMatch(/Read-only file system/);
  });

  it('shows nothing of itself on a host whose mounts are shared', () => {
    const script = [
      'mount --make-rshared /',
      'before=$(wc -l < /proc/self/mountinfo)',
      '"$@"',
      'echo "$(($(wc -l < /proc/self/mountinfo) - before)) more"',
      'grep -q shared: /proc/self/mountinfo && echo shared',
    ].join('\n');
    const through = ['/usr/bin/unshare', '-m', '--propagation', 'private', '/usr/bin/sh', '-c', script, 'sh'];
    const { stdout } = launchSync({ plan, through, program: ['/usr/bin/sh', '-c', 'cat /proc/self/mountinfo'] });
    expect(stdout).toMatch(/\n0 more\nshared\n$/);
    expect(stdout).not.toMatch(/ shared:\d| master:\d/);
  });
});
