import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { FirstMinute } from '../support/first-minute.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';

const manifest = `name: demo
version: 1.2.3
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
`;
const granting = `${manifest}capabilities:
  shell: { allow: [sh] }
  network: { allow: [files.example] }
  env: { allow: [GREETING] }
`;
const referring = `${manifest}capabilities: { network: { allow: ["\${PLACE}"] } }\n`;
const script = '- content: [{ type: text, text: From the manifest. }]\n  stop_reason: end_turn\n';
const answered = { code: 0, stdout: 'From the manifest.\n', stderr: '' };
const untrusted = expect.stringMatching(/^error\[E-RUN-181\]: \.\/svc\.yaml as it is has not been trusted/) as string;
const isRoot = process.getuid?.() === 0;
const somebody = 1000;

let opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** A folder with a capsule that this user has never run. */
function cloned(text = manifest): FirstMinute {
  const minute = new FirstMinute({ ceiling: 'advisory' });
  opened.push(minute);
  minute.write({ 'svc.yaml': text, 'script.yaml': script });
  return minute;
}

const told = (minute: FirstMinute): string => join(minute.home, '.svc', 'trusted-manifests.json');

describe('svc "task" where a manifest was found', () => {
  it.each([[['say hello']], [['-p', 'Hi']], [['--output', 'text', 'say hello']], [['-p']]])(
    'runs %j only once this user trusts it, and remembers that',
    async (args) => {
      const minute = cloned();
      const piped = { input: 'Hi' };
      expect(await minute.svc(args, piped)).toMatchObject({ code: 1, stdout: '', stderr: untrusted });
      expect(readdirSync(minute.folder)).toEqual(['script.yaml', 'svc.yaml']);
      expect(await minute.svc([...args, '--trust'], piped)).toEqual(answered);
      expect(await minute.svc(args, piped)).toEqual(answered);
      expect(statSync(told(minute)).mode & 0o777).toBe(0o600);
    },
  );

  it('says what changed in the folder that it gives', async () => {
    const minute = cloned(
      `${manifest}artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { project: { path: ., write: true } }\n`,
    );
    const input = { command: 'write', path: 'project/made.txt', content: 'x' };
    const call = JSON.stringify([{ type: 'tool_call', id: 'a', name: 'svc-tool-editor', input }]);
    minute.write({ 'script.yaml': `- content: ${call}\n  stop_reason: tool_call\n${script}` });
    const { code, stderr } = await minute.svc(['make a file', '--trust']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'new: made.txt\n' });
    expect(readdirSync(minute.folder)).toEqual(['made.txt', 'script.yaml', 'svc.yaml']);
  });

  it('asks again once its content, its place, or a host that a variable names is another', async () => {
    const minute = cloned(referring);
    minute.write({ '.env': 'PLACE=one.example\n' });
    expect((await minute.svc(['-p', 'Hi', '--trust'])).code).toBe(0);
    minute.write({ '.env': 'PLACE=one.example\nOTHER=x\n' });
    expect((await minute.svc(['-p', 'Hi'])).code).toBe(0);
    minute.write({ '.env': 'PLACE=two.example\n' });
    expect((await minute.svc(['-p', 'Hi'])).stderr).toEqual(untrusted);
    minute.write({ '.env': 'PLACE=one.example\n', 'svc.yaml': manifest });
    expect((await minute.svc(['-p', 'Hi'])).stderr).toEqual(untrusted);
    minute.write({ 'svc.yaml': referring });
    expect((await minute.svc(['-p', 'Hi'])).code).toBe(0);
    renameSync(minute.folder, `${minute.folder}-moved`);
    expect((await minute.svc(['-p', 'Hi'], { cwd: `${minute.folder}-moved` })).stderr).toEqual(untrusted);
  });

  it('asks again once a variable makes more of its grants', async () => {
    const minute = cloned(`${manifest}capabilities: { shell: { allow: ['\${COMMAND}'] } }\n`);
    minute.write({ '.env': 'COMMAND=cat\n' });
    expect((await minute.svc(['-p', 'Hi', '--trust'])).code).toBe(0);
    minute.write({ '.env': 'COMMAND=bash\n' });
    expect((await minute.svc(['-p', 'Hi'])).stderr).toEqual(untrusted);
  });

  it('asks nobody where the command line names the manifest, and where nothing is run', async () => {
    const minute = cloned();
    for (const args of [
      ['-p', 'Hi', '--manifest', './svc.yaml'],
      ['run', '-p', 'Hi'],
    ])
      expect(await minute.svc(args)).toEqual(answered);
    expect(await minute.svc(['--explain-scope', 'say hello'])).toMatchObject({ code: 0 });
    expect(readdirSync(join(minute.home, '.svc'))).not.toContain('trusted-manifests.json');
  });

  it('gives a program one object that says why it did nothing', async () => {
    const { code, stdout } = await cloned().svc(['-p', 'Hi', '--output', 'json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'failed',
      reason: { code: 'E-RUN-181', hint: expect.stringContaining('--trust') as string, retryable: false },
    });
  });

  it('refuses --trust where there is no manifest', async () => {
    const minute = new FirstMinute({ ceiling: 'advisory' });
    opened.push(minute);
    expect(await minute.svc(['--trust', 'say hello'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --trust goes with a manifest: ./svc.yaml is not here\n',
    });
  });

  it.each([
    ['garbage', (path: string) => writeFileSync(path, '\0{"trusted', { mode: 0o600 })],
    [
      'a list of something else',
      (path: string) => writeFileSync(path, '{"trusted-manifests_version":1,"trusted-manifests":[1]}'),
    ],
    ['writable for others', (path: string) => chmodSync(path, 0o666)],
  ])('believes no file of answers that is %s, and replaces it', async (_, spoil) => {
    const minute = cloned();
    await minute.svc(['-p', 'Hi', '--trust']);
    spoil(told(minute));
    expect((await minute.svc(['-p', 'Hi'])).stderr).toEqual(untrusted);
    expect(await minute.svc(['-p', 'Hi', '--trust'])).toEqual(answered);
    expect(await minute.svc(['-p', 'Hi'])).toEqual(answered);
    expect(statSync(told(minute)).mode & 0o777).toBe(0o600);
  });

  it('forgets the oldest of a thousand answers', async () => {
    const minute = cloned();
    await minute.svc(['-p', 'Hi', '--trust']);
    const kept = JSON.parse(readFileSync(told(minute), 'utf8')) as Record<string, unknown>;
    const others = Array.from({ length: 1000 }, (_, number) => `${number} /x`);
    writeFileSync(told(minute), JSON.stringify({ ...kept, 'trusted-manifests': others }), { mode: 0o600 });
    await minute.svc(['-p', 'Hi', '--trust']);
    const after = JSON.parse(readFileSync(told(minute), 'utf8')) as Record<string, readonly string[]>;
    expect(after['trusted-manifests']).toHaveLength(1000);
    expect(after['trusted-manifests']!.at(-1)).toBe('998 /x');
  });

  it('runs all the same where the answer cannot be remembered, and says so', async () => {
    const minute = cloned();
    mkdirSync(told(minute), { recursive: true });
    const end = await minute.svc(['-p', 'Hi', '--trust']);
    expect(end).toMatchObject({ code: 0, stdout: 'From the manifest.\n' });
    expect(end.stderr).toContain('warning[W-RUN-182]: the manifest is believed for this time alone: ');
  });
});

describe.skipIf(!isRoot)('svc "task" where the manifest is of another user (skipped without root)', () => {
  const places = [
    ['the file', (minute: FirstMinute) => chownSync(join(minute.folder, 'svc.yaml'), somebody, somebody)],
    ['the folder', (minute: FirstMinute) => chownSync(minute.folder, somebody, somebody)],
    [
      'the link that it is',
      (minute: FirstMinute) => {
        renameSync(join(minute.folder, 'svc.yaml'), join(minute.folder, 'own.yaml'));
        symlinkSync('own.yaml', join(minute.folder, 'svc.yaml'));
        lchownSync(join(minute.folder, 'svc.yaml'), somebody, somebody);
      },
    ],
    [
      'what it is a link to',
      (minute: FirstMinute) => {
        renameSync(join(minute.folder, 'svc.yaml'), join(minute.folder, 'other.yaml'));
        symlinkSync('other.yaml', join(minute.folder, 'svc.yaml'));
        chownSync(join(minute.folder, 'other.yaml'), somebody, somebody);
      },
    ],
  ] as const;

  it.each(places)('refuses it by %s, whatever the flags and the answers say', async (_, give) => {
    const minute = cloned();
    expect((await minute.svc(['-p', 'Hi', '--trust'])).code).toBe(0);
    give(minute);
    const { code, stdout, stderr } = await minute.svc(['-p', 'Hi', '--trust']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-RUN-180\]: \.\/svc\.yaml or its folder belongs to another user \(uid 1000\)/);
    expect(await minute.svc(['-p', 'Hi', '--trust'], { env: { SUDO_UID: '1001' } })).toMatchObject({ code: 1 });
    expect(await minute.svc(['-p', 'Hi', '--trust'], { env: { SUDO_UID: '1000' } })).toMatchObject({ code: 0 });
  });
});

describe.skipIf(!hasPseudoTerminals())('a manifest that was found, on a terminal (skipped without python3)', () => {
  const running: TerminalProcess[] = [];
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL');
  });
  const terminal = (minute: FirstMinute, args: readonly string[], columns = 120): TerminalProcess => {
    const started = new TerminalProcess(minute.workspace, args, {
      columns,
      env: { SVC_CONTAINMENT_CEILING: 'advisory' },
    });
    running.push(started);
    return started;
  };

  it('shows grants, hosts and variables, and runs for nothing but a yes', async () => {
    const minute = cloned(granting);
    for (const answer of ['n', '', 'yess']) {
      const asked = terminal(minute, ['say hello']);
      const rows = await asked.shows(/^run it with these grants, now and later, until it changes\? \[y\/N\]/);
      const text = rows.join('\n');
      expect(text).toMatch(/hosts: +files\.example\n +variables: +GREETING\n/);
      expect(text).toMatch(/Effective grants[^]*shell allow: +sh\n/);
      asked.type(`${answer}\r`);
      expect(await asked.ended).toBe(1);
      expect(asked.terminal.rows.join('\n')).toContain('error[E-RUN-181]');
    }
    const asked = terminal(minute, ['say hello']);
    await asked.shows(/\[y\/N\]/);
    asked.type('y\r');
    expect(await asked.ended).toBe(0);
    const again = terminal(minute, ['say hello']);
    expect(await again.ended).toBe(0);
    const first = again.terminal.rows.find((row) => row.startsWith('svc '));
    expect(first).toMatch(
      /^svc \S+ \u00B7 demo 1\.2\.3 \(\.\/svc\.yaml\) \u00B7 scripted \u00B7 no folder: the manifest has no project \u00B7 files\.example \u00B7 GREETING$/,
    );
    expect(again.terminal.rows.join('\n')).not.toContain('[y/N]');
    minute.write({ 'svc.yaml': `${manifest}capabilities: { project: { path: . } }\n` });
    const given = terminal(minute, ['say hello', '--trust']);
    expect(await given.ended).toBe(0);
    expect(given.terminal.rows.find((row) => row.startsWith('svc '))).toMatch(
      /scripted \u00B7 \.\/\S+ read only \u00B7 no network \u00B7 no variables$/,
    );
  });

  it('lays out what it shows, so that no name in it begins a row', async () => {
    const minute = cloned(`${manifest}capabilities: { project: { path: . } }\n`);
    minute.write({ [`.env${'x'.repeat(44)}\u2502 no masked file`]: '' });
    const asked = terminal(minute, ['say hello'], 80);
    const rows = await asked.shows(/\[y\/N\]/);
    const grants = rows.slice(
      rows.indexOf('Effective grants') + 1,
      rows.findLastIndex((row) => row === ''),
    );
    expect(grants.join(' ').replaceAll(/\s+/g, ' ')).toContain('x\u2502 no masked file');
    expect(grants.filter((row) => !row.startsWith('  '))).toEqual([]);
    asked.type('n\r');
    expect(await asked.ended).toBe(1);
  });

  it('asks before svc chat starts it, and shows hosts and variables of one that is named', async () => {
    const minute = cloned(granting);
    const refused = terminal(minute, ['chat']);
    await refused.shows(/\[y\/N\]/);
    refused.type('n\r');
    expect(await refused.ended).toBe(1);
    const named = terminal(minute, ['chat', '--manifest', 'svc.yaml', '--no-history']);
    await named.shows(/^starting the capsule of svc\.yaml \u00B7 files\.example \u00B7 GREETING$/);
    await named.shows(/^>$/);
    named.type('\u0004');
    await named.shows(/s stop/);
    named.type('s');
    expect(await named.ended).toBe(0);
  });
});
