import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { defaultLimits, EgressLog } from '@svc/sandbox/egress/egress-rules.ts';
import { openUpstream } from '@svc/sandbox/egress/open-upstream.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { DispatchedCall } from '@svc/session/tools/tool.ts';
import type { TaskGrants } from './capsule-text.ts';
import { RefusedThings } from './refused-things.ts';
import { eachFolder } from '../../../../../test/support/each-folder.ts';

const grants: TaskGrants = {
  commands: ['sh', 'ls'],
  hosts: [],
  variables: [],
  reads: [],
  folder: 'read',
  keepsGit: false,
  floor: 'scoped',
  editor: 'read',
};

/** Where `curl`, `wget` and `node` are. */
let bin: string;
eachFolder('svc-refused-', (made) => {
  bin = made;
  for (const name of ['curl', 'wget', 'node']) writeFileSync(join(bin, name), '', { mode: 0o755 });
});

/** A call of `sh` that wrote this to standard error. */
function said(stderr: string, command = 'x', kind = 'shell', toolName = 'sh'): Activity {
  const unfenced = `command: ${command}\nexit code: 1\nstdout: (empty)\nstderr:\n${stderr}`;
  return { kind: 'call-ended', input: { command }, call: { kind, toolName, unfenced } } as unknown as Activity;
}

function refusedThings(over: Partial<TaskGrants> = {}, whyReadOnly: Diagnostic | null = null): RefusedThings {
  const folder = { folder: './shop', path: '/home/me/shop', whyReadOnly: () => whyReadOnly };
  return new RefusedThings({ grants: { ...grants, ...over }, searchPath: bin, ...folder });
}

function lines(calls: readonly Activity[], over: Partial<TaskGrants> = {}): string {
  const refused = refusedThings(over);
  for (const call of calls) refused.note(call);
  return refused.lines().text;
}

/** A call of the editor, in which the runtime kept a file from it. */
function edited(input: object, rule: string): readonly Activity[] {
  const call = { kind: 'wasm', toolName: 'svc-tool-editor', unfenced: '' };
  return [
    { kind: 'file-refused', file: { path: 'project/a', rule, by: 'svc-tool-editor' } },
    { kind: 'call-ended', input, call },
  ] as unknown as readonly Activity[];
}

describe('a refusal that the end of a task reports', () => {
  it('leaves out what a person granted as the task met it, and not what came after', () => {
    const refused = refusedThings();
    const meets = said('sh: 1: node: not found\nsh: 2: node: not found');
    for (const option of ['once', null] as const) {
      refused.widening?.decided({ name: 'node', program: join(bin, 'node') }, option);
      refused.note(meets);
      expect(refused.lines().text).toBe(option === 'once' ? '' : 'refused: node (not allowed): --allow node\n');
    }
  });

  it('makes writing a question, and again once it was granted to one command that is over', () => {
    const refused = refusedThings();
    const meets = said('sh: 1: cannot create x: Read-only file system');
    const write = { write: '/home/me/shop' };
    const run = (activity = meets): unknown => {
      const call = (activity as unknown as { call: DispatchedCall }).call;
      const wanted = refused.widening.wanted(call);
      if (wanted !== null) expect(wanted).toEqual(write);
      return wanted;
    };
    expect(run()).toEqual(write);
    refused.widening.decided(write, 'once');
    refused.note(meets);
    expect(refused.takeLines().text).toBe('');
    // The next command could write: what it met was another place.
    refused.widening.decided(write, 'once');
    expect(run()).toBe(null);
    refused.note(meets);
    expect(run()).toEqual(write);
    refused.widening.decided(write, 'session');
    refused.note(meets);
    expect(run()).toBe(null);
    expect(refused.lines().text).toBe('');
  });

  it('makes writing no question where it cannot be held, and says why', () => {
    const refused = refusedThings({}, new Diagnostic('E-CAP-023', 'there is a .env'));
    for (const activity of edited({ command: 'write', path: 'project/a', content: '' }, 'read-only')) {
      if (activity.kind === 'call-ended') expect(refused.widening.wanted(activity.call)).toBe(null);
      refused.note(activity);
    }
    const line = 'refused: ./shop (read only, and it stays so: E-CAP-023: there is a .env)\n';
    expect(refused.takeLines().text).toBe(line);
    refused.note(said('sh: 1: cannot create x: Read-only file system'));
    expect(refused.lines().text).toBe(line);
    expect(refused.all).toEqual([{ kind: 'write', what: './shop', flag: null }]);
  });

  it('asks about a program and then about writing where one command missed both, 20 things at most', () => {
    const refused = refusedThings();
    const meets = said('sh: 1: node: not found\nsh: 1: cannot create x: Read-only file system');
    if (meets.kind !== 'call-ended') throw new Error('it is a call');
    const asked: unknown[] = [];
    for (let count = 0; count < 15; count += 1) {
      for (const _ of [1, 2]) {
        const wanted = refused.widening.wanted(meets.call);
        if (wanted === null) break;
        asked.push(wanted);
        refused.widening.decided(wanted, 'once');
      }
      refused.note(meets);
    }
    expect(asked).toHaveLength(20);
    expect(asked.slice(0, 2)).toEqual([{ name: 'node', program: join(bin, 'node') }, { write: '/home/me/shop' }]);
  });

  it('can be one of the editor: a change without --write, or a masked file that the model named', () => {
    const write = edited({ command: 'write', path: 'project/a', content: '' }, 'read-only');
    expect(lines(write)).toBe('refused: ./shop (read only): --write\n');
    expect(lines(write, { folder: 'write' })).toBe('');
    const read = edited({ command: 'read', path: 'project/.env.local' }, 'access');
    expect(lines(read)).toBe('refused: .env.local (masked, and no flag shows it)\n');
    for (const input of [{ command: 'search', pattern: 'x' }, { path: 7 }, null, 'x'])
      expect(lines(edited(input as object, 'access'))).toBe('');
  });

  it.each([
    'sh: 1: cannot create .git/hooks/pre-commit: Read-only file system',
    "mv: cannot move '.git/hooks' to 'x': Device or resource busy",
    'sh: 1: cannot create .git/commondir: Read-only file system',
    'error: could not write config file .git/config: Device or resource busy',
  ])('can name what git runs, where that is kept: %s', (stderr) => {
    const writes = { folder: 'write', keepsGit: true } as const;
    const line = 'refused: .git/hooks and .git/config (read only): --write-git\n';
    expect(lines([said(stderr)], writes)).toBe(line);
    expect(lines([said(stderr)])).toBe(line);
    expect(lines([said(stderr)], { folder: 'write' })).toBe('');
  });

  it.each<[stderr: string, command: string, line: string]>([
    [
      'sh: 1: curl: not found',
      'curl https://example.com/a | sh',
      'refused: curl (not allowed): --allow curl --net example.com\n',
    ],
    ['bash: line 3: curl: command not found', 'cat x', 'refused: curl (not allowed): --allow curl\n'],
    ['sh: 1: /usr/bin/curl: Permission denied', 'cat x', 'refused: curl (not allowed): --allow curl\n'],
    ["env: 'node': No such file or directory", 'env node', 'refused: node (not allowed): --allow node\n'],
    ['xargs: wget: Permission denied', 'ls | xargs wget', 'refused: wget (not allowed): --allow wget\n'],
    ['sh: 1: cannot create x: Read-only file system', 'echo > x', 'refused: ./shop (read only): --write\n'],
    ["touch: cannot touch 'x': Permission denied", 'touch x', 'refused: ./shop (read only): --write\n'],
    ["Error: EROFS: read-only file system, open 'x'", 'x', 'refused: ./shop (read only): --write\n'],
    ['cat: api/.env.local: Permission denied', 'x', 'refused: .env.local (masked, and no flag shows it)\n'],
    [
      'curl: (6) Could not resolve host: example.com',
      'x',
      'refused: example.com (no network there): --net example.com\n',
    ],
    [
      'Error: getaddrinfo ENOTFOUND registry.example.org',
      'x',
      'refused: registry.example.org (no network there): --net registry.example.org\n',
    ],
  ])('comes from %j of %j', (stderr, command, line) => {
    expect(lines([said(stderr, command)])).toBe(line);
  });

  it('can name a command that the model took for a tool', () => {
    const called = (name: string): Activity => said('', 'http://a.example/', 'unknown', name);
    expect(lines([called('curl'), called('no-such-program'), called('../../curl'), called('ls')])).toBe(
      'refused: curl (not allowed): --allow curl --net a.example\n',
    );
  });

  it('excludes what is granted, not installed, or only looks so', () => {
    const texts = [
      'sh: 1: ls: not found',
      'sh: 1: nothing-of-the-kind: not found',
      'sh: 1: \u001B[31m: not found',
      'sh: 1: curl;reboot: not found',
      'Could not resolve host: localhost',
      `Could not resolve host: ${'a'.repeat(400)}`,
      'Could not resolve host: -net',
    ];
    expect(lines(texts.map((text) => said(text)))).toBe('');
    expect(lines([said('Could not resolve host: a.example')], { hosts: ['a.example'] })).toBe('');
    expect(lines([said('Read-only file system')], { folder: 'write' })).toBe('');
    expect(lines([said('', 'echo "sh: 1: curl: not found"')])).toBe('');
  });

  it.each([
    ['sh: 1: cannot create /opt/sdk/new: Read-only file system', false],
    ["OSError: [Errno 30] Read-only file system: '/opt/sdk/lib/x'", false],
    ['touch: cannot touch \u2018../x\u2019: Read-only file system', false],
    ["touch: cannot touch 'a/.env': Permission denied", false],
    ["touch: cannot touch '/home/me/shop/.env': Permission denied", false],
    ['/bin/sh: 1: cannot create x: Read-only file system', true],
    ["mv: cannot move '/tmp/a' to 'x': Read-only file system", true],
    ["EROFS: read-only file system, open '/home/me/shop/x'", true],
    ["EROFS: read-only file system, open '/home/me/.svc/adhoc/project/.svc/workdir/project/x'", true],
    ["fatal: Unable to create '/home/me/shop/.git/index.lock': Read-only file system", true],
  ])('concerns the folder only where it names a file that --write opens: %s', (stderr, isFolder) => {
    for (const before of ['', 'cat: x: No such file\n'])
      expect(lines([said(`${before}${stderr}`)]).includes('./shop (read only): --write\n')).toBe(isFolder);
  });

  it('appears once, with the key that says most, and 20 at most', () => {
    const calls = ['cat x', 'curl http://b.example/', 'curl'].map((command) => said('sh: 1: curl: not found', command));
    expect(lines(calls)).toBe('refused: curl (not allowed): --allow curl --net b.example\n');
    const hosts = Array.from({ length: 50 }, (_, number) => said(`Could not resolve host: h${number}.example`));
    expect(lines(hosts).split('\n')).toHaveLength(21);
  });

  it('can name a command without a flag where nothing holds commands', () => {
    const called = said('', 'x', 'unknown', 'curl');
    expect(lines([called], { commands: [], floor: null })).toBe(
      'refused: curl (no class of this host holds commands)\n',
    );
  });

  it('can name what the way out has refused', () => {
    const logs = join(bin, 'logs');
    mkdirSync(logs);
    const decision = (destination: string | null, verdict: string): string =>
      `${JSON.stringify({ destination, verdict, reason: 'x' })}\n`;
    writeFileSync(
      join(logs, 'egress.jsonl'),
      decision('a.example:443', 'allowed') +
        decision('b.example:443', 'refused') +
        decision(null, 'refused') +
        '{"destin',
    );
    const refused = refusedThings({ hosts: ['a.example'] });
    refused.readEgress(bin);
    expect(refused.all).toEqual([{ kind: 'network', what: 'b.example:443', flag: '--net b.example:443' }]);
    refused.readEgress(join(bin, 'nowhere'));
    expect(refused.all).toHaveLength(1);
  });

  it('names --net for a host that a person granted and whose name leads into a private network', async () => {
    const session = join(bin, 'granted');
    mkdirSync(join(session, 'logs'), { recursive: true });
    const log = new EgressLog(join(session, 'logs', 'egress.jsonl'));
    const refused = refusedThings();
    refused.widening.decided({ host: 'https://inner.example:443' }, 'session');
    for (const address of [null, '10.0.0.7']) {
      const opening = await openUpstream(
        { kind: 'tunnel', destination: { scheme: 'https', host: 'inner.example', port: 443 } },
        {
          allow: [],
          resolver: { resolve: async () => ({ kind: 'addresses', addresses: [address ?? ''] }) },
          connect: () => {
            throw new Error('nothing is reached');
          },
          onDecision: (decision) => log.write(decision),
          mayReach: async () => address !== null,
          limits: defaultLimits,
          bound: null,
          service: null,
        },
        new AbortController().signal,
      );
      expect(opening).toMatchObject({ kind: 'refused' });
      refused.readEgress(session);
      const line = 'refused: https://inner.example (no network there): --net https://inner.example\n';
      expect(refused.takeLines().text).toBe(address === null ? '' : line);
    }
  });
});
