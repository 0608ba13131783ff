import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare, encodeLaunchPlan } from '../../src/launch/launch-plan.ts';
import { helperPath } from './support/helper.ts';
import { launchSync, users } from './support/launch.ts';
import { needs } from './support/needs.ts';
import { composed } from './support/plans.ts';

/** With and without processes of the helper around the program. */
const plans = [
  ['in the host', bare],
  ['in namespaces', composed()],
] as const;

const shell = (script: string): [string, ...string[]] => ['/usr/bin/sh', '-c', script];

/** The fields of `/proc/self/status` that a program sees. */
function statusFields(text: string): Record<string, string> {
  return Object.fromEntries(text.split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]));
}

describe.each(users)('a program launched by %s', (_name, user) => {
  it('starts in no directory that a symbolic link leads to, as the last part or on the way', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-cwd-')));
    try {
      chmodSync(folder, 0o755);
      symlinkSync('/usr', join(folder, 'link'));
      for (const cwd of [join(folder, 'link'), join(folder, 'link/lib'), '/proc/self/cwd']) {
        const { code, stdout, status } = launchSync({ plan: { ...bare, cwd }, user, program: ['/usr/bin/pwd'] });
        expect({ code, stdout, status }).toEqual({ code: 125, stdout: '', status: `cwd 40 ${cwd}\n` });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  describe.each(plans)('%s', (_place, plan) => {
    beforeEach((context) => needs(context, ...(plan === bare ? [] : (['sealed'] as const))));

    it.each([0, 1, 3, 125, 255])('ends with its exit code, %d', (code) => {
      expect(launchSync({ plan, user, program: shell(`exit ${code}`) })).toEqual({
        code,
        signal: null,
        stdout: '',
        stderr: '',
        status: '',
      });
    });

    it.each(['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGABRT', 'SIGHUP', 'SIGPIPE'] as const)(
      'ends with its signal, %s',
      (signal) => {
        const script = `kill -${signal.slice(3)} $$`;
        expect(launchSync({ plan, user, program: shell(script) })).toMatchObject({ code: null, signal, status: '' });
      },
    );

    it('ends with a code above 128 when that is what it exits with', () => {
      expect(launchSync({ plan, user, program: shell('exit 137') })).toMatchObject({ code: 137, signal: null });
    });

    it('has the environment of the call and nothing else', () => {
      const env = { PATH: '/nowhere', NODE_CHANNEL_FD: '9', LD_BIND_NOW: '', 'ODD NAME': 'a\nb=c' };
      const { stdout } = launchSync({ plan, user, env, program: ['/usr/bin/env', '-0'] });
      expect(stdout.split('\0').sort()).toEqual(
        ['', 'LD_BIND_NOW=', 'NODE_CHANNEL_FD=9', 'ODD NAME=a\nb=c', 'PATH=/nowhere'].sort(),
      );
    });

    it('has its arguments as they are, also empty ones', () => {
      const program = ['/usr/bin/printf', '[%s]', 'a b', '', '-', '$HOME', '\n'] as const;
      expect(launchSync({ plan, user, program }).stdout).toBe('[a b][][-][$HOME][\n]');
    });

    it('has descriptors 0, 1 and 2 and no other, whatever the helper was started with', () => {
      const held = [openSync('/', 'r'), openSync('/etc/passwd', 'r'), openSync('/dev/null', 'w')];
      try {
        const { stdout, code } = launchSync({ plan, user, more: held, program: ['/usr/bin/ls', '/proc/self/fd'] });
        // The last is of the directory that is being listed.
        expect({ stdout, code }).toEqual({ stdout: '0\n1\n2\n3\n', code: 0 });
      } finally {
        for (const descriptor of held) closeSync(descriptor);
      }
    });

    it('starts within a small limit of open files, however many the helper was started with', (context) => {
      needs(context, 'landlock');
      const held = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'));
      try {
        // Its rules are files that are opened after the limit is set.
        const landlock = {
          handled: { filesystem: 1n, network: 0n, scope: 0n },
          paths: [{ rights: 1n, path: '/' }],
          ports: [],
        };
        const limited = { ...plan, landlock, limits: [{ resource: 7, soft: 8n, hard: 8n }] };
        expect(launchSync({ plan: limited, user, more: held, program: ['/usr/bin/true'] })).toMatchObject({ code: 0 });
      } finally {
        for (const descriptor of held) closeSync(descriptor);
      }
    });

    it('reads nothing from a null input', () => {
      expect(launchSync({ plan, user, program: shell('cat; readlink /proc/self/fd/0') })).toMatchObject({
        stdout: '/dev/null\n',
        code: 0,
      });
    });

    it('has no capability and no way to one, and every signal at its default', () => {
      const through = ['/usr/bin/env', '--ignore-signal', '--block-signal'] as const;
      const { stdout } = launchSync({ plan, user, through, program: ['/usr/bin/cat', '/proc/self/status'] });
      const fields = statusFields(stdout);
      expect(fields).toMatchObject({
        CapInh: '0000000000000000',
        CapPrm: '0000000000000000',
        CapEff: '0000000000000000',
        CapAmb: '0000000000000000',
        NoNewPrivs: '1',
        SigBlk: '0000000000000000',
        SigIgn: '0000000000000000',
        SigPnd: '0000000000000000',
        ShdPnd: '0000000000000000',
      });
      const isRoot = user === undefined && process.getuid?.() === 0;
      const couldEmptyIt = isRoot || plan !== bare;
      if (couldEmptyIt) expect(fields['CapBnd']).toBe('0000000000000000');
    });

    it('causes one line when it cannot be executed', () => {
      const missing = launchSync({ plan, user, program: ['/usr/bin/no such\nprogram'] });
      expect(missing).toEqual({
        code: 125,
        signal: null,
        stdout: '',
        stderr: '',
        status: 'exec 2 /usr/bin/no such?program\n',
      });
      expect(launchSync({ plan, user, program: ['/usr'] }).status).toBe('exec 13 /usr\n');
    });

    it('causes at most 1,023 bytes', () => {
      const { status } = launchSync({ plan, user, program: [`/${'long/'.repeat(600)}`] });
      expect(status.length).toBe(1023);
      expect(status).toMatch(/^exec 2 \/long\/(long\/)*.*\n$/);
    });

    it('starts where the plan says, or not at all', () => {
      expect(launchSync({ plan: { ...plan, cwd: '/usr/lib' }, user, program: ['/usr/bin/pwd'] }).stdout).toBe(
        '/usr/lib\n',
      );
      expect(launchSync({ plan: { ...plan, cwd: '/usr/nowhere' }, user, program: ['/usr/bin/pwd'] })).toMatchObject({
        code: 125,
        stdout: '',
        status: 'cwd 2 /usr/nowhere\n',
      });
      expect(launchSync({ plan: { ...plan, cwd: '/usr/bin/env' }, user, program: ['/usr/bin/pwd'] }).status).toBe(
        'cwd 20 /usr/bin/env\n',
      );
    });

    it('has the limits of the plan', () => {
      const limits = [
        { resource: 7, soft: 10n, hard: 20n },
        { resource: 1, soft: 4096n, hard: 2n ** 64n - 1n },
        { resource: 4, soft: 0n, hard: 0n },
      ];
      const { stdout } = launchSync({
        plan: { ...plan, limits },
        user,
        program: ['/usr/bin/cat', '/proc/self/limits'],
      });
      expect(stdout).toMatch(/^Max open files +10 +20 /m);
      expect(stdout).toMatch(/^Max file size +4096 +unlimited /m);
      expect(stdout).toMatch(/^Max core file size +0 +0 /m);
    });

    it('keeps a limit that is lower already', () => {
      const limits = [{ resource: 1, soft: 4096n, hard: 8192n }];
      const through = ['/usr/bin/sh', '-c', 'ulimit -f 4; exec "$@"', 'sh'] as const;
      const program = ['/usr/bin/cat', '/proc/self/limits'] as const;
      const { code, stdout } = launchSync({ plan: { ...plan, limits }, user, through, program });
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Max file size +2048 +2048 /m);
    });

    it('does not run with an invalid limit', () => {
      const limits = [{ resource: 7, soft: 20n, hard: 10n }];
      expect(launchSync({ plan: { ...plan, limits }, user, program: ['/usr/bin/true'] })).toMatchObject({
        code: 125,
        status: 'limit 22 resource 7\n',
      });
    });
  });
});

describe('a call that is wrong', () => {
  beforeEach((context) => needs(context));

  it.each([0, 1, 2])('runs nothing when descriptor %d is closed', (descriptor) => {
    const through = ['/usr/bin/sh', '-c', `exec "$@" ${descriptor}>&-`, 'sh'] as const;
    expect(launchSync({ plan: bare, through, program: ['/usr/bin/true'] })).toMatchObject({
      code: 125,
      status: 'descriptors 9 0, 1 or 2 is not open\n',
    });
  });

  it.each([
    [
      'no program',
      '3 - - - /usr/bin/true',
      'call 22 svc-launch <plan> <status> <filter> <egress> <path> <argv0> [<argument>...]',
    ],
    ['no plan', '- - - - /usr/bin/true true', 'call 22 not the number of a descriptor'],
    ['an output for its plan', '1 - - - /usr/bin/true true', 'call 22 not the number of a descriptor'],
    ['a negative number', '-3 - - - /usr/bin/true true', 'call 22 not the number of a descriptor'],
    ['a number and more', '3x - - - /usr/bin/true true', 'call 22 not the number of a descriptor'],
    ['a huge number', '99999999999999999999 - - - /usr/bin/true true', 'call 22 not the number of a descriptor'],
    ['a descriptor that is not open', '3 - 99 - /usr/bin/true true', 'call 9 a descriptor that is not open'],
    ['a path that is not absolute', '3 - - - true true', "call 22 the program's path is not absolute"],
    ['an egress that no plan asked for', '3 - - 3 /usr/bin/true true', 'call 22 listen and egress need each other'],
    ['a directory for its filter', '3 - 4 - /usr/bin/true true', 'filter 22 not a regular file'],
  ])('runs nothing when it has %s', (_what, words, complaint) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-call-'));
    writeFileSync(join(folder, 'plan'), encodeLaunchPlan(bare));
    const [plan, directory] = [openSync(join(folder, 'plan'), 'r'), openSync(folder, 'r')];
    try {
      const stdio = ['ignore', 'pipe', 'pipe', plan, directory] as const;
      const { status, stderr } = spawnSync(helperPath(), words.split(' '), { stdio: [...stdio], encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 125, stderr: `${complaint}\n` });
    } finally {
      closeSync(plan);
      closeSync(directory);
      rmSync(folder, { recursive: true });
    }
  });

  it('runs nothing when a standard descriptor is a directory', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-call-'));
    const directory = openSync(folder, 'r');
    try {
      const mark = join(folder, 'ran');
      const end = launchSync({ plan: bare, stdin: directory, program: ['/usr/bin/touch', mark] });
      expect(end).toMatchObject({ code: 125, status: 'descriptors 21 0, 1 or 2 is a directory\n' });
      expect(existsSync(mark)).toBe(false);
    } finally {
      closeSync(directory);
      rmSync(folder, { recursive: true });
    }
  });
});
