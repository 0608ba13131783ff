import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { needs } from './support/needs.ts';
import { type NativeEnd, launchSync } from './support/launch.ts';

let folder: string;
beforeEach((context) => {
  needs(context);
  folder = mkdtempSync(join(tmpdir(), 'svc-plans-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Launches a program that would leave a file, and holds that it did not. */
function refuse(plan: Buffer): NativeEnd {
  const mark = join(folder, 'ran');
  const end = launchSync({ plan, program: ['/usr/bin/touch', mark] });
  expect(existsSync(mark)).toBe(false);
  return end;
}

function bytes(words: readonly string[]): Buffer {
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}

/** The words of a plan between its head and its end. */
function plan(text: string): Buffer {
  return bytes(['svc-launch-plan', '1', ...(text === '' ? [] : text.split(' ')), 'end']);
}

const whole = [
  'unshare user,mount,pid,ipc,net,uts,cgroup map 0 0 hostname box loopback',
  'tmp 14 4096 /tmp tmpfs 0xe 4096 /dev bind 7 /usr /usr directory /run symlink usr/bin /bin proc 15 /proc',
  'cwd / limit 7 64 64 landlock 0xf 3 0 allow 12 /usr port 2 443',
].join(' ');

describe('a malformed plan', () => {
  it('runs nothing when it is cut off, wherever that is', () => {
    const mark = join(folder, 'ran');
    const valid = bytes(['svc-launch-plan', '1', ...'limit 7 64 64 cwd /'.split(' '), 'end']);
    expect(launchSync({ plan: valid, program: ['/usr/bin/touch', mark] })).toMatchObject({ code: 0, status: '' });
    rmSync(mark);
    const long = plan(whole);
    for (const cut of Array(long.length).keys()) {
      const { code, status } = refuse(long.subarray(0, cut));
      expect({ cut, code, stage: status.slice(0, 8) }).toEqual({ cut, code: 125, stage: 'plan 22 ' });
    }
  }, 120_000);

  it.each([
    ['nothing', Buffer.alloc(0), 'plan 22 word 0: cut off\n'],
    ['NULs alone', Buffer.alloc(64), 'plan 22 word 1: not a launch plan\n'],
    ['another magic', bytes(['svc-launch-plam', '1', 'cwd', '/', 'end']), 'plan 22 word 1: not a launch plan\n'],
    ['a longer magic', bytes(['svc-launch-plan2', '1', 'cwd', '/', 'end']), 'plan 22 word 1: not a launch plan\n'],
    ['another version', bytes(['svc-launch-plan', '2', 'cwd', '/', 'end']), 'plan 22 word 2: not version 1\n'],
    ['a NUL behind the end', Buffer.concat([plan('cwd /'), Buffer.alloc(1)]), 'plan 22 word 5: bytes behind the end\n'],
    [
      'a NUL before the end',
      bytes(['svc-launch-plan', '1', 'cwd', '/', '', 'end']),
      'plan 22 word 5: not an operation\n',
    ],
    ['two plans', Buffer.concat([plan('cwd /'), plan('cwd /')]), 'plan 22 word 5: bytes behind the end\n'],
    ['no NUL at the end', Buffer.from('svc-launch-plan\x001\0cwd\0/\0end'), 'plan 22 word 0: cut off\n'],
    ['a NUL too few', Buffer.from('svc-launch-plan\x001\0cwd/\0end\0'), 'plan 22 word 3: not an operation\n'],
  ])('runs nothing when it is %s', (_what, given, status) => {
    expect(refuse(given)).toEqual({ code: 125, signal: null, stdout: '', stderr: '', status });
  });

  it.each([
    ['', 'word 3: no cwd'],
    ['cwd / exec /bin/sh', 'word 5: not an operation'],
    ['cwd / CWD /', 'word 5: not an operation'],
    ['cwd / cwd /', 'word 5: an operation that may stand only once'],
    ['cwd / unshare uts unshare ipc', 'word 7: an operation that may stand only once'],
    ['cwd / landlock 1 0 0 landlock 1 0 0', 'word 9: an operation that may stand only once'],
    ['cwd / id 1 1 id 1 1', 'word 8: an operation that may stand only once'],
    ['cwd / unshare net loopback loopback', 'word 8: an operation that may stand only once'],
    ['cwd relative', 'word 4: not an absolute path'],
    [`cwd /${'d'.repeat(4095)}`, 'word 4: a path that is too long'],
    ['cwd / cgroup cgroup.procs', 'word 6: not an absolute path'],
    [`cwd /${' cgroup /a'.repeat(5)}`, 'word 14: more than 4 control groups'],
    ['cwd / room /a 1', 'word 8: room without cgroup'],
    ['cwd / cgroup /a room /b 4294967296', 'word 9: a number out of range'],
    ['cwd / users x 0 0', 'word 8: not an absolute path'],
    ['cwd / users /a 0 4294967295', 'word 8: a number out of range'],
    ['cwd / users /a 0 0 id 0 0', 'word 12: both users and id'],
    ['cwd / mounts /a', 'word 7: mounts without users'],
    ['cwd / processes 1', 'word 7: processes without users'],
    ['cwd / users /a 0 0 processes 0', 'word 10: a number out of range'],
    ['cwd / around 1', 'word 7: around without users'],
    ['cwd / execs 2', 'word 6: a number out of range'],
    ['cwd / execs 1048577', 'word 6: a number out of range'],
    ['cwd / program git', 'word 7: program without execs'],
    ['cwd / users /a 0 0 around 0', 'word 10: a number out of range'],
    ['cwd / users /a 0 0 around 1', 'word 11: around without the namespace pid'],
    ['cwd / users /a 0 0 around 1 unshare user,pid', 'word 13: both around and the namespace user'],
    ['cwd / unshare mount bind 0x100000 / /x', 'word 11: a mapped bind without mounts'],
    ['cwd / unshare mount tmpfs 0x100000 1 /x', 'word 10: a number out of range'],
    ['cwd / unshare users', 'word 6: not a namespace'],
    ['cwd / unshare use', 'word 6: not a namespace'],
    ['cwd / unshare uts,', 'word 6: not a namespace'],
    ['cwd / unshare ,uts', 'word 6: not a namespace'],
    ['cwd / unshare uts,uts', 'word 6: a namespace named twice'],
    ['cwd / map 0 0', 'word 8: map without the namespace user'],
    ['cwd / hostname box', 'word 7: hostname without the namespace uts'],
    [`cwd / unshare uts hostname ${'h'.repeat(65)}`, 'word 8: a host name of no or more than 64 bytes'],
    ['cwd / loopback', 'word 6: loopback or listen without the namespace net'],
    ['cwd / listen 3128', 'word 7: loopback or listen without the namespace net'],
    ['cwd / unshare net listen 0', 'word 8: a number out of range'],
    ['cwd / unshare net listen 65536', 'word 8: a number out of range'],
    ['cwd / unshare net listen 3128 loopback', 'word 10: both loopback and listen'],
    ['cwd / directory /run', 'word 7: a root without the namespace mount'],
    ['cwd / unshare mount bind 16 / /x', 'word 10: a number out of range'],
    ['cwd / unshare mount bind 7 usr /usr', 'word 10: not an absolute path'],
    ['cwd / unshare mount bind 7 /usr usr', 'word 10: not an absolute path'],
    ['cwd / unshare mount directory /', 'word 8: a target with an empty, . or .. part'],
    ['cwd / unshare mount directory /a//b', 'word 8: a target with an empty, . or .. part'],
    ['cwd / unshare mount directory /a/', 'word 8: a target with an empty, . or .. part'],
    ['cwd / unshare mount directory /a/./b', 'word 8: a target with an empty, . or .. part'],
    ['cwd / unshare mount directory /a/../b', 'word 8: a target with an empty, . or .. part'],
    ['cwd / unshare mount directory /..', 'word 8: a target with an empty, . or .. part'],
    [`cwd / unshare mount directory /${'d'.repeat(256)}`, 'word 8: a target with a part that is too long'],
    ['cwd / unshare mount tmpfs 0 0 /tmp', 'word 10: a number out of range'],
    ['cwd / unshare mount tmp 0 9223372036854775808 /tmp', 'word 10: a number out of range'],
    ['cwd / limit 16 1 1', 'word 8: a number out of range'],
    ['cwd / limit 7 64 64 limit 7 64 64', 'word 12: a resource limited twice'],
    ['cwd / allow 1 /', 'word 8: a rule without landlock'],
    ['cwd / port 1 80', 'word 8: a rule without landlock'],
    ['cwd / landlock 1 0 0 port 1 65536', 'word 11: a number out of range'],
    ['cwd / landlock 1 0 0 allow 1 usr', 'word 11: not an absolute path'],
    ['cwd / id 4294967295 0', 'word 7: a number out of range'],
    ['cwd / id 0 4294967295', 'word 7: a number out of range'],
  ])('runs nothing when it says %s', (text, reason) => {
    expect(refuse(plan(text))).toMatchObject({ code: 125, status: `plan 22 ${reason}\n` });
  });

  it.each(['', ' ', '-1', '+1', '1 ', ' 1', '1a', '0x', '0X10', '0xg', '010', '00', '1.0', '1e3', '0b1', '٣'])(
    'runs nothing with %j for a number',
    (number) => {
      const given = bytes(['svc-launch-plan', '1', 'cwd', '/', 'limit', '7', number, '64', 'end']);
      expect(refuse(given)).toMatchObject({ code: 125, status: 'plan 22 word 8: not a number\n' });
    },
  );

  it.each(['18446744073709551616', '0x10000000000000000', `1${'0'.repeat(1000)}`])(
    'runs nothing with %s, which is more than 64 bits hold',
    (number) => {
      const status = 'plan 22 word 8: a number out of range\n';
      expect(refuse(plan(`cwd / limit 7 ${number} 64`))).toMatchObject({ code: 125, status });
    },
  );

  it('runs nothing with an empty host name or a link to nothing', () => {
    const hostname = bytes(['svc-launch-plan', '1', 'cwd', '/', 'unshare', 'uts', 'hostname', '', 'end']);
    expect(refuse(hostname).status).toBe('plan 22 word 8: a host name of no or more than 64 bytes\n');
    const link = bytes(['svc-launch-plan', '1', 'cwd', '/', 'unshare', 'mount', 'symlink', '', '/a', 'end']);
    expect(refuse(link).status).toBe('plan 22 word 9: a symbolic link to nothing, or too long\n');
  });
});

describe('a plan of too much', () => {
  const steps = (count: number): string => Array.from({ length: count }, (_, at) => ` directory /${at}`).join('');
  const rules = (count: number): string => Array.from({ length: count }, () => ' allow 1 /usr').join('');

  it('runs nothing with 1,025 steps of a root, and runs with 1,024', () => {
    const beginning = 'cwd / unshare mount';
    expect(refuse(plan(beginning + steps(1025)))).toMatchObject({
      code: 125,
      status: 'plan 22 word 2056: more than 1024 of a kind\n',
    });
    expect(refuse(plan(`${beginning}${steps(1024)} limit 0 1 0`)).status).not.toMatch(/^plan/);
  });

  it('runs nothing with 1,025 rules, of whatever kind', () => {
    const beginning = 'cwd / landlock 1 2 0';
    expect(refuse(plan(beginning + rules(1025))).status).toBe('plan 22 word 3083: more than 1024 of a kind\n');
    expect(refuse(plan(`${beginning}${rules(1024)} port 2 80`)).status).toBe(
      'plan 22 word 3083: more than 1024 of a kind\n',
    );
    expect(refuse(plan(`${beginning}${rules(1024)} limit 0 1 0`)).status).toBe('limit 22 resource 0\n');
  });

  it('runs nothing when it is longer than 1 MiB, and runs when it is exactly that long', () => {
    const head = bytes(['svc-launch-plan', '1', 'cwd', '/']);
    const tail = bytes(['', 'end']);
    const filled = (length: number): Buffer =>
      Buffer.concat([head, Buffer.alloc(length - head.length - tail.length, 'x'), tail]);
    expect(refuse(filled(1_048_577))).toMatchObject({ code: 125, status: 'plan 7 too long\n' });
    expect(refuse(filled(1_048_576))).toMatchObject({ code: 125, status: 'plan 22 word 5: not an operation\n' });
  });
});
