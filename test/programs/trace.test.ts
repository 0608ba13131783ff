import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { writeRunningRecord } from '@svc/record/sessions/running-record.ts';
import { RecordedSession, type RecordedOptions } from '../../packages/record/test/journal/recorded-session.ts';
import { liveRecord } from '../support/running-record.ts';
import { svc, SvcProcess, type SvcEnd } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

let workspace: Workspace;

beforeEach(() => {
  workspace = makeWorkspace({});
});

afterEach(() => workspace.remove());

const id = (digits: string): string => `ses_${digits.padStart(32, '0')}`;
const withoutTrace = 'trace: not there; only a trace has connections and refusals\n';
const folderOf = (digits: string): string => join(workspace.folder, '.svc', 'sessions', id(digits));

async function trace(...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, ['trace', ...args], { env: { TZ: 'UTC' } });
}

function begun(session: string, options: RecordedOptions = {}): RecordedSession {
  return new RecordedSession(workspace.folder, { session, ...options }).task('Do the tests pass?');
}

function recorded(session: string, output = '2 tests failed', options: RecordedOptions = {}): RecordedSession {
  return begun(session, options)
    .model('I run them.', ['sh'])
    .shell('npm test', output, 1)
    .model('No.')
    .taskEnd('No.')
    .close();
}

describe('svc trace list', () => {
  it('says so where nothing is recorded', async () => {
    expect(await trace('list')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `no session is recorded in ${join(workspace.folder, '.svc', 'sessions')}\n`,
    });
  });

  it('lists sessions with and without a journal, newest first', async () => {
    recorded('4f1a');
    const older = folderOf('77c0');
    mkdirSync(older, { recursive: true });
    const lines = [
      { event_type: 'session_start', timestamp: 1_759_000_000_000, capsule: { name: 'reviewer', version: '2.0.0' } },
      { event_type: 'task_received' },
      { event_type: 'inference', model: 'small-1', usage: { input_tokens: 40, output_tokens: 2 } },
    ];
    writeFileSync(join(older, 'trace.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect((await trace('list')).stdout).toBe(
      [
        'SESSION  CAPSULE   STARTED           STATUS   TASKS  STEPS  TOKENS  JOURNAL',
        '…4f1a    demo      2025-10-09 08:53  ok       1      3      2584    content 7.8 KB',
        '…77c0    reviewer  2025-09-27 19:06  crashed  1      -      42      -',
        '',
      ].join('\n'),
    );
    const [first, second] = (await trace('list', '--json')).stdout.split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ model: 'scripted', duration_ms: 16_400 });
    expect(JSON.parse(second ?? '')).toEqual({
      session_id: id('77c0'),
      folder: null,
      capsule: 'reviewer',
      version: '2.0.0',
      started_at_ms: 1_759_000_000_000,
      status: 'crashed',
      duration_ms: null,
      model: 'small-1',
      tasks: 1,
      tokens: 42,
      unread_lines: 0,
      task: null,
      steps: null,
      journal: null,
      journal_removed_at_ms: null,
    });
    const refused = await trace('steps', '77c0');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error\[E-RUN-071\]: the session ses_0+77c0 has no journal\nhint: /);
  });

  it('reports a session that cannot be read, and lists the others', async () => {
    recorded('4f1a');
    recorded('77c0');
    renameSync(folderOf('77c0'), join(workspace.folder, 'elsewhere'));
    symlinkSync(join(workspace.folder, 'elsewhere'), folderOf('77c0'));
    const { code, stdout, stderr } = await trace('list');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stderr).toMatch(/^error\[E-RUN-072\]: .* ses_0+77c0 is a link or a file\n/);
  });
});

describe('a session of svc trace', () => {
  it('can be named by its id, its end, a path, or not at all', async () => {
    recorded('4f1a');
    const newest = recorded('77c0', '1 test failed');
    const rows = (await trace('steps', '4f1a')).stdout;
    expect((await trace('steps', id('4f1a'))).stdout).toBe(rows);
    expect((await trace('steps', '…4f1a')).stdout).toBe(rows);
    expect((await trace('steps', folderOf('4f1a'))).stdout).toBe(rows);
    expect((await svc(workspace, ['trace', 'steps', '.'], { cwd: newest.folder })).stdout).toBe(rows);
    expect((await trace('show', '2')).stdout).toContain('1 test failed');
    const elsewhere = await svc(
      workspace,
      ['trace', 'steps', '4f1a', '--manifest', join(workspace.folder, 'svc.yaml')],
      { cwd: '/' },
    );
    expect(elsewhere.stdout).toBe(rows);
  });

  it.each([
    [
      ['steps', '9999'],
      /^error\[E-RUN-070\]: no session in .* is 9999\nhint: svc trace list lists them; a session is named/,
    ],
    [['steps', '1a'], /^error\[E-RUN-070\]: no session in .* is 1a\n/],
    [['steps', '000'], /^error\[E-RUN-070\]: no session in /],
    [['steps', './none.zip'], /^error\[E-RUN-070\]: there is nothing at .*none\.zip\n/],
    [
      ['show', '4f1a', '4'],
      /^error\[E-RUN-075\]: the session ses_0+4f1a has no step 4\nhint: it has those from 1 to 3/,
    ],
    [['show', '4f1a', 'x'], /^error\[E-RUN-075\]: the session ses_0+4f1a has no step x\n/],
  ])('cannot be named as %j', async (args, message) => {
    recorded('4f1a');
    const { code, stdout, stderr } = await trace(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('cannot be named when several end so', async () => {
    recorded('14f1a');
    recorded('24f1a');
    expect((await trace('steps', '4f1a')).stderr).toMatch(/^error\[E-RUN-091\]: 4f1a fits more than one session: ses_/);
    expect((await trace('list')).stdout).toMatch(/\n…24f1a .*\n…14f1a /);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'cannot be read when it belongs to another user (needs root, to give it away)',
    async () => {
      recorded('4f1a');
      chownSync(folderOf('4f1a'), 65_534, 65_534);
      expect((await trace('steps', '4f1a')).stderr).toMatch(
        /^error\[E-RUN-072\]: .* ses_0+4f1a belongs to user 65534\n/,
      );
      expect((await trace('rm', '4f1a')).stderr).toMatch(/^error\[E-RUN-072\]: /);
      expect(existsSync(folderOf('4f1a'))).toBe(true);
    },
  );

  it('appears with a warning when its commands could write to it', async () => {
    recorded('4f1a', 'x', { trusted: false });
    expect((await trace('steps')).stderr).toMatch(
      /^warning\[W-RUN-072\]: commands of ses_0+4f1a could have written its journal\n/,
    );
  });
});

describe('svc trace steps', () => {
  const task = '        task          Do the tests pass?';
  const answer = '        answer        No.                                completed';
  const rows = [
    '#1      model         turn 1 1,204 in, 88 out, cache 1,100  -> sh         1.2 s',
    '#2      sh            npm test                           exit 1        14.0 s',
    '#3      model         turn 2 1,204 in, 88 out, cache 1,100  end_turn      1.2 s',
  ];

  it('lists what a session did, in the order in which it began', async () => {
    recorded('4f1a');
    expect(await trace('steps')).toMatchObject({
      code: 0,
      stdout: `${[task, ...rows, answer].join('\n')}\n`,
      stderr: '',
    });
    const lines = (await trace('steps', '--json')).stdout.split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { step: null, port: 'task', name: 'user', place: `tsk_${'1'.padStart(32, '0')}` },
      { step: 1, port: 'model', turn: 1, duration_ms: 1200, calls: ['sh'], usage: { in: 1204, out: 88, cache: 1100 } },
      { step: 2, port: 'shell', name: 'sh', exit: 1, is_error: true, duration_ms: 14_000 },
      { step: 3, port: 'model', stop: 'end_turn', is_error: false },
      { step: null, port: 'end', name: 'completed', is_error: false },
    ]);
  });

  it('has a row for a call that was refused, between those before and behind it', async () => {
    const told = (call: number, text: string) =>
      ({ role: 'tool', toolCallId: `call_${call}`, isError: true, content: [{ type: 'text', text }] }) as const;
    begun('4f1a')
      .model('Three.', ['curl', 'sh', 'wget'])
      .says(told(0, 'there is no tool named "curl"'))
      .shell('true', 'x', 0, 2)
      .says(told(2, 'there is no tool named "wget"'))
      .model('No.')
      .taskEnd('No.')
      .close();
    const { stdout } = await trace('steps');
    expect(stdout.split('\n').map((row) => row.replace(/ +/g, ' '))).toEqual([
      ' task Do the tests pass?',
      '#1 model turn 1 1,204 in, 88 out, cache 1,100 -> curl, sh, wget 1.2 s',
      ' curl Three. refused',
      '#2 sh true ok 14.0 s',
      ' wget Three. refused',
      '#3 model turn 2 1,204 in, 88 out, cache 1,100 end_turn 1.2 s',
      ' answer No. completed',
      '',
    ]);
    const lines = (await trace('steps', '--json')).stdout.split('\n').slice(0, -1);
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({ step: null, port: 'refused', name: 'curl', turn: 1 });
    expect((await trace('show')).stdout).toContain('$ curl Three.  failed\n\u2551 there is no tool named "curl"\n');
  });

  it('shows what stands before the damage, and where that is', async () => {
    const { folder } = recorded('4f1a');
    const path = join(folder, 'journal.jsonl');
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    const last = lines.findLastIndex((line) => line.includes('"k":"start"'));
    writeFileSync(path, [...lines.slice(0, last), 'x\n', ...lines.slice(last + 1)].join(''));
    const byte = Buffer.byteLength(lines.slice(0, last).join(''));
    const { code, stdout, stderr } = await trace('steps');
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${[task, ...rows.slice(0, 2)].join('\n')}\n` });
    const why = `error[E-RUN-073]: the journal is damaged: record ${last}, at byte ${byte}, does not begin and end as a record does\n`;
    expect(stderr).toContain(why);
    const shown = await trace('show');
    expect(shown.stdout).toMatch(
      /\nstatus: the journal is damaged, capture content\n\n> Do the tests pass\?\n\u2502 I run them\.\n\$ [^]*- the task has no end\n$/,
    );
    expect(shown).toMatchObject({ code: 1, stderr: expect.stringContaining(why) as string });
  });

  it('reads a running session to its last line feed, and follows it to its end', async () => {
    const running = begun('4f1a').model('I run them.', ['sh']);
    appendFileSync(join(running.folder, 'journal.jsonl'), '');
    const forget = writeRunningRecord(workspace.home, { ...liveRecord({}), session_id: id('4f1a') });
    expect((await trace('steps')).stdout).toBe(`${task}\n${rows[0]}\n`);
    expect((await trace('list')).stdout).toMatch(/\n…4f1a .* running {2}1 {6}1 /);
    const following = new SvcProcess(workspace, ['trace', 'steps', '--follow']);
    await following.printed(/#1 .*\n/);
    running.shell('npm test', 'x', 1);
    await following.printed(/#2 .*\n/);
    running.model('No.').taskEnd('No.').close();
    const all = [task, ...rows, answer].join('\n');
    expect(await following.ended).toMatchObject({ code: 0, stdout: `${all}\n`, stderr: '' });
    forget();
  });

  it('shows what calls are about that came since it began to follow', async () => {
    const running = begun('4f1a').model('I run them.', ['sh', 'sh']);
    const forget = writeRunningRecord(workspace.home, { ...liveRecord({}), session_id: id('4f1a') });
    const following = new SvcProcess(workspace, ['trace', 'steps', '--follow']);
    await following.printed(/#1 .*\n/);
    running.shell('npm test', 'x');
    await following.printed(/#2 .* npm test .*\n/);
    running.shell('npm run lint', 'y');
    await following.printed(/#3 .* npm run lint .*\n/);
    running.close();
    expect(await following.ended).toMatchObject({ code: 0, stderr: '' });
    forget();
  });

  it('ends to follow a session that does not run any more', async () => {
    begun('4f1a').model('I run them.', ['sh']);
    const { code, stdout, stderr } = await trace('steps', '--follow');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${task}\n${rows[0]}\n` });
    expect(stderr).toBe(`the session ${id('4f1a')} does not run, and has no end\n`);
  });
});

describe('svc trace show', () => {
  it('shows texts that are nested too deep to be laid out as they are', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const session = begun('4f1a').model('I run them.', ['sh']);
    const input = runSync(session.journal.body(deep));
    const e = `tsk_${'1'.padStart(32, '0')}/1/m1/t1`;
    session.journal.append({ k: 'start', e, port: 'tool', name: 'sh', in: input });
    session.journal.append({ k: 'end', e, ms: 1, value: input });
    session.close();
    const shown = await trace('show', '2');
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain(`input: ${deep.slice(0, 100)}`);
    const { code, stdout } = await trace('show', '2', '--json');
    expect({ code, input: (JSON.parse(stdout) as { input: unknown }).input }).toEqual({ code: 0, input: deep });
  });

  it('shows what was new in a request, and the answer', async () => {
    recorded('4f1a');
    expect((await trace('show', '4f1a', '3')).stdout).toBe(
      [
        '#3  model scripted  turn 2  1.2 s',
        'place: tsk_00000000000000000000000000000001/1/m2',
        'fixed part: system prompt 16 B, tools 64 B, at most 1,000 tokens',
        'request: goes on from #1, with 2 messages more',
        'assistant: I run them.',
        '-> sh {"command":"I run them."}',
        'tool, failed: 2 tests failed',
        'answer (end_turn, 1,204 in, 88 out, cache 1,100): No.',
        '',
      ].join('\n'),
    );
    expect((await trace('show', '4f1a#3')).stdout).toBe((await trace('show', '#3')).stdout);
    const step = JSON.parse((await trace('show', '3', '--json')).stdout) as Record<string, unknown>;
    expect(step).toMatchObject({
      step: 3,
      base: 1,
      fixed: { model: 'scripted', maxTokens: 1000 },
      add: [{}, { role: 'tool' }],
    });
    expect(step['value']).toMatchObject({ kind: 'response', response: { stopReason: 'end_turn' } });
  });

  it('shows a session as its person saw it: what was said, calls with their results, answers, the end', async () => {
    recorded('4f1a', Array.from({ length: 9 }, (_, index) => `line ${index}`).join('\n'));
    const { stdout, stderr } = await trace('show');
    expect(stderr).toBe('');
    expect(stdout).toBe(`session: ${id('4f1a')}
capsule: demo v1.2.3
started: 2025-10-09 08:53, by svc 0.4.0 on Node 20.20.2
status: ok, 3 steps, capture content

> Do the tests pass?
\u2502 I run them.
$ I run them.  exit 1    14.0 s
\u2551 \u2026 4 lines more: svc trace show 4f1a#2
\u2551 line 4
\u2551 line 5
\u2551 line 6
\u2551 line 7
\u2551 line 8
\u2502 No.
- done in 16.4 s \u00B7 2 turns \u00B7 2,584 tokens
`);
    expect((await trace('show', '4f1a#2')).stdout).toContain('line 0\n');
  });

  it('gives the code of its answers without a gutter, the last block first', async () => {
    begun('4f1a').model('One:\n\n```ts\n- done in 3 s\n  \u001B[31mx\n```\nTwo:\n\n~~~\nb\n', []);
    expect(await trace('show', '--code')).toMatchObject({ code: 0, stdout: 'b\n', stderr: '' });
    expect((await trace('show', '4f1a', '--code', '2')).stdout).toBe('- done in 3 s\n  \u001B[31mx\n');
    expect((await trace('show', '4f1a', '--code', '3')).stderr).toBe(
      `error[E-RUN-075]: the session ${id('4f1a')} has no block of code 3\nhint: they have those from 1, the last one, to 2\n`,
    );
  });

  it('says of a task that was cut off where it stood', async () => {
    begun('4f1a').model('I run them.', ['sh']);
    expect((await trace('show')).stdout).toMatch(/\n\u2502 I run them\.\n- the task has no end\n$/);
  });

  it('shows what a session began with, and its grants, where that is asked for', async () => {
    recorded('4f1a');
    expect((await trace('show', '2')).stdout).not.toContain('grants');
    expect((await trace('show', '2', '--grants')).stdout).toContain(
      'input: {\n  "command": "npm test"\n}\nresult (exit 1, failed): 2 tests failed\ngrants of the session: {\n',
    );
    const session = (await trace('show', '--setup')).stdout;
    expect(session).toMatch(/^session: ses_0+4f1a\ncapsule: demo v1\.2\.3\nstarted: 2025-10-09 08:53, by svc 0\.4\.0/);
    expect(session).toContain(`status: ok, 3 steps, capture content\n${withoutTrace}manifest: name: demo\n`);
    expect(session).toContain('system: You are helpful.\n');
    expect((await trace('show', '--grants')).stdout).toMatch(/capture content\n.*\ngrants: \{\n[^]*\n\}\n$/);
    expect(JSON.parse((await trace('show', '--json')).stdout)).toMatchObject({
      steps: 3,
      status: 'ok',
      system: 'You are helpful.',
    });
  });

  it('says that connections and refusals are not known where there is no trace, as in an export', async () => {
    const { folder } = recorded('4f1a');
    writeFileSync(join(folder, 'trace.jsonl'), '{"event_type":"session_start"}\n');
    await trace('export', '4f1a', '-o', 'out.zip');
    expect((await trace('show', '--setup')).stdout).not.toContain('trace: not there');
    expect((await trace('show', './out.zip', '--setup')).stdout).toContain(`capture content\n${withoutTrace}manifest:`);
  });

  it('says of one step that it is one', async () => {
    begun('4f1a').model('Yes.').taskEnd('Yes.').close();
    expect((await trace('show')).stdout).toContain('status: ok, 1 step, capture content\n');
  });

  it('says of a text that is missing, or is another than it was, that it is', async () => {
    const { folder } = recorded('4f1a', 'x'.repeat(70_000));
    const bodies = readdirSync(join(folder, 'bodies'));
    expect(bodies).toHaveLength(2);
    for (const name of bodies)
      writeFileSync(join(folder, 'bodies', name), 'y'.repeat(statSync(join(folder, 'bodies', name)).size));
    const { code, stdout } = await trace('show', '2');
    expect(code).toBe(0);
    expect(stdout).toContain('result (exit 1, failed): (damaged: the text has another hash)\n');
  });

  it('lets nothing that others wrote act on a terminal', async () => {
    recorded('4f1a', 'red \u001B[31m\u001B]0;title\u0007\u202E end');
    expect((await trace('show', '2')).stdout).toContain('result (exit 1, failed): red  end\n');
  });

  it('goes through a pager on a terminal alone, when it is longer than that is high (skipped without python3)', async (context) => {
    context.skip(!hasPseudoTerminals(), 'needs python3, to make a terminal');
    recorded('4f1a', Array.from({ length: 60 }, (_, index) => `line ${index}`).join('\n'));
    const pager = { PAGER: 'sed s/line/paged/' };
    const show = async (step: string, env: Readonly<Record<string, string>>): Promise<string> => {
      const shown = new TerminalProcess(workspace, ['trace', 'show', '4f1a', step], { env });
      await shown.ended;
      return shown.terminal.rows.join('\n');
    };
    const long = await show('2', pager);
    expect(long).toContain('\u2502 paged 59');
    expect(long).not.toContain('line');
    expect(await show('1', pager)).not.toContain('paged');
    expect(await show('2', { PAGER: 'no-such-pager-anywhere' })).toContain('\u2502 line 59');
    expect(await show('2', { PAGER: '' })).toContain('\u2502 line 59');
    expect((await svc(workspace, ['trace', 'show', '2'], { env: pager })).stdout).toContain('line 59');
  });
});

describe('svc trace diff', () => {
  it('names the first point where two sessions differ', async () => {
    recorded('4f1a');
    recorded('77c0', '1 test failed');
    expect((await trace('diff', '4f1a', '77c0')).stdout).toBe(
      [
        'first difference at #3 (model, turn 2): message 3 (tool), /content/0/text, byte 0',
        '  - 2 tests failed',
        '  + 1 test failed',
        'cache: the same up to message 2 of 3; missed from message 3 on. fixed part: same',
        '',
      ].join('\n'),
    );
    expect((await trace('diff', '4f1a', '4f1a')).stdout).toBe('the same except for ids and times\n');
    expect(JSON.parse((await trace('diff', '4f1a', '77c0', '--json')).stdout)).toMatchObject({
      a: id('4f1a'),
      b: id('77c0'),
      parting: { kind: 'request', steps: { a: 3, b: 3 }, part: 'message', message: { number: 3, role: 'tool' } },
    });
    expect(JSON.parse((await trace('diff', '4f1a', '4f1a', '--json')).stdout)).toMatchObject({ parting: null });
  });

  it.each([
    [
      'the system prompt',
      { system: 'You are grumpy.' },
      /^first difference at #1 \(model, turn 1\): system, byte 8\n {2}- You are helpful\.\n {2}\+ You are grumpy\.\n/,
    ],
    [
      'a tool',
      { tools: [{ name: 'sh', description: 'Runs one.' }] },
      /^first difference at #1 \(model, turn 1\): tools, \/0\/description, byte 5\n/,
    ],
    [
      'the model',
      { model: 'other' },
      /^first difference at #1 \(model, turn 1\): model, \/model, byte 0\n {2}- scripted\n {2}\+ other\n/,
    ],
  ])('names %s of another kind', async (_, options, shown) => {
    recorded('4f1a');
    recorded('77c0', '2 tests failed', options);
    const { stdout } = await trace('diff', '4f1a', '77c0');
    expect(stdout).toMatch(shown);
    expect(stdout).toMatch(/\ncache: missed from the fixed part on, then the same up to message 1 of 1\n$/);
  });

  it('shows a step that only one has, another task, and texts that are not kept', async () => {
    recorded('4f1a');
    begun('77c0').model('I run them.', ['sh']).close();
    expect((await trace('diff', '4f1a', '77c0')).stdout).toBe(
      'first difference at #2 (shell sh, turn 1): only the first session has this step, whose text is not kept\n',
    );
    new RecordedSession(workspace.folder, { session: 'aaaa' }).task('Something else').close();
    expect((await trace('diff', '4f1a', 'aaaa')).stdout).toBe(
      'first difference at task 1: text, byte 0\n  - Do the tests pass?\n  + Something else\n',
    );
    recorded('bbbb', '1 test failed', { capture: 'meta' });
    expect((await trace('diff', '4f1a', 'bbbb')).stdout).toMatch(
      /^first difference at #3 \(model, turn 2\): message 3 \(tool\), whose text is not kept\n/,
    );
  });

  it('says where a line is longer than a record can be, and compares what stands before it', async () => {
    const { folder } = recorded('4f1a');
    recorded('77c0');
    const path = join(folder, 'journal.jsonl');
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    const before = lines.slice(0, 14).join('');
    writeFileSync(path, `${before}${'x'.repeat(17 * 1024 * 1024)}\n${lines.slice(14).join('')}`);
    const fault = `error[E-RUN-073]: the journal is damaged: record 14, at byte ${Buffer.byteLength(before)}, is longer than a record can be\n`;
    for (const others of [['4f1a'], ['77c0'], []]) {
      const { code, stderr } = await trace('diff', '4f1a', ...others);
      expect(code).toBe(1);
      expect(stderr).toContain(fault);
    }
    expect((await trace('diff', '77c0', '77c0')).code).toBe(0);
  });

  it('says of one session why the prompt cache could not hold', async () => {
    const session = begun('4f1a').model('a');
    session.model('b', [], { system: 'Other.' });
    session.clock.advance(400_000);
    session
      .model('c')
      .compacted([{ role: 'user', content: [{ type: 'text', text: 'In short' }] }])
      .model('d')
      .close();
    expect((await trace('diff', '4f1a')).stdout).toBe(
      [
        '#2  turn 2, after #1: system changed (the same up to message 1 of 2)',
        '#3  turn 3, after #2: system changed; 6 m 40 s since the last answer (the same up to message 2 of 3)',
        '#4  turn 4, after #3: message 1 changed (the same up to message 0 of 1)',
        'requests that go on from another: 3; the prompt cache could hold for 0 of them',
        '',
      ].join('\n'),
    );
    const [first] = (await trace('diff', '4f1a', '--json')).stdout.split('\n');
    expect(JSON.parse(first ?? '')).toEqual({
      step: 2,
      before: 1,
      messages: 2,
      same_messages: 1,
      misses: [{ kind: 'fixed' }],
    });
  });
});

describe('an exported session', () => {
  it('comes back elsewhere as it was, once', async () => {
    recorded('4f1a', 'x'.repeat(70_000));
    const archive = join(workspace.folder, 'out.zip');
    expect(await trace('export', '4f1a', '-o', 'out.zip')).toMatchObject({ code: 0, stdout: `${archive}\n` });
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const shown = (await trace('show', '2')).stdout;
    expect((await trace('show', './out.zip#2')).stdout).toBe(shown);
    workspace.write('other/svc.yaml', '');
    const there = ['--manifest', 'other/svc.yaml'];
    expect(await trace('import', 'out.zip', ...there)).toMatchObject({ code: 0, stdout: `${id('4f1a')}\n` });
    expect((await trace('show', '2', ...there)).stdout).toBe(shown);
    const imported = join(workspace.folder, 'other', '.svc', 'sessions');
    expect(readdirSync(imported)).toEqual([id('4f1a')]);
    expect(readFileSync(join(imported, id('4f1a'), 'journal.jsonl'))).toEqual(
      readFileSync(join(folderOf('4f1a'), 'journal.jsonl')),
    );
    expect(statSync(join(imported, id('4f1a'))).mode & 0o777).toBe(0o700);
    expect(statSync(join(imported, id('4f1a'), 'journal.jsonl')).mode & 0o777).toBe(0o600);
    const again = await trace('import', 'out.zip', ...there);
    expect(again.stderr).toMatch(
      /^error\[E-RUN-076\]: the session ses_0+4f1a is recorded in this workspace already\nhint: /,
    );
    expect(readdirSync(imported)).toEqual([id('4f1a')]);
  });

  it('has no text in it where it is redacted, and can be compared all the same', async () => {
    const canary = 'canary-7f3a';
    recorded('4f1a', `${canary} ${'x'.repeat(70_000)}`);
    begun('77c0').model(canary).taskEnd(canary).close();
    for (const session of ['4f1a', '77c0']) {
      await trace('export', session, '--redact', '-o', `${session}.zip`);
      expect(readFileSync(join(workspace.folder, `${session}.zip`), 'utf8')).not.toMatch(/canary|tests|run them/);
    }
    expect((await trace('steps', './4f1a.zip', '--json')).stdout).toBe((await trace('steps', '4f1a', '--json')).stdout);
    expect((await trace('show', './4f1a.zip', '2')).stdout).toContain('result (exit 1, failed): (70.0 KB, not kept)\n');
    expect((await trace('diff', '4f1a', './4f1a.zip')).stdout).toBe('the same except for ids and times\n');
  });

  it('holds what stands before the damage, and says where that is', async () => {
    const { folder } = recorded('4f1a', 'x'.repeat(70_000));
    const rows = (await trace('steps', '4f1a')).stdout.split('\n');
    execFileSync('rm', ['-r', join(folder, 'bodies')]);
    const { code, stdout, stderr } = await trace('export', '-o', 'out.zip');
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${join(workspace.folder, 'out.zip')}\n` });
    expect(stderr).toMatch(
      /^error\[E-RUN-073\]: the journal is damaged: record \d+, at byte \d+, names a text that is not there: its file is missing\n/,
    );
    // It is a journal that ends there, with nothing wrong in it.
    const before = await trace('steps', './out.zip');
    expect(before).toMatchObject({ code: 0, stderr: '' });
    expect(before.stdout.split('\n').slice(0, 1)).toEqual(rows.slice(0, 1));
    expect(before.stdout.split('\n').length).toBeLessThan(rows.length);

    const journal = join(folder, 'journal.jsonl');
    const lines = readFileSync(journal, 'utf8').split('\n');
    writeFileSync(journal, lines.map((line, n) => (n === 14 ? line.replace('"n":14', '"n":15') : line)).join('\n'));
    const at = lines.slice(0, 14).join('\n').length + 1;
    for (const option of ['--redact', '--json']) {
      const cut = await trace('export', option, '-o', `cut${option}.zip`, '--json');
      expect(cut.code).toBe(1);
      expect(JSON.parse(cut.stdout)).toMatchObject({ damage: { record: 14, byte: at } });
      expect(cut.stderr).toContain(`error[E-RUN-073]: the journal is damaged: record 14, at byte ${at}, `);
      expect(await trace('steps', `./cut${option}.zip`)).toMatchObject({ code: 0, stderr: '' });
    }
  });

  it('cannot come from a journal of which nothing holds', async () => {
    const { folder } = recorded('4f1a');
    writeFileSync(join(folder, 'journal.jsonl'), 'x\n');
    expect(await trace('export', '-o', 'out.zip')).toMatchObject({ code: 1, stdout: '' });
    expect(existsSync(join(workspace.folder, 'out.zip'))).toBe(false);
  });

  const hash = 'a'.repeat(64);
  it.each([
    ['nothing', {}, /^error\[E-RUN-074\]: .* is not an exported session: it holds no journal\.jsonl\n/],
    ['other files', { 'journal.jsonl': '', 'run.sh': '' }, /: it holds "run\.sh"\n/],
    ['a name below bodies', { 'journal.jsonl': '', 'bodies/x': '' }, /: it holds "bodies\/x"\n/],
    [
      'a text of another hash',
      { 'journal.jsonl': '', [`bodies/${hash}`]: 'x' },
      /: "bodies\/a+…" has another hash than its name\n/,
    ],
    ['an empty journal', { 'journal.jsonl': '' }, /: its journal names no session\n/],
    ['half a journal', { 'journal.jsonl': '{"n":0,' }, /: its journal ends within a line\n/],
    ['no journal', { 'journal.jsonl': 'x\n' }, /^error\[E-RUN-073\]: the journal is damaged: record 0, at byte 0, /],
  ])('cannot come from an archive with %s', async (_, files, message) => {
    const packed = Object.entries(files).map(([name, text]) => ({ name, data: Buffer.from(text) }));
    const chunks: Buffer[] = [];
    for await (const chunk of packArchive(packed)) chunks.push(chunk);
    writeFileSync(join(workspace.folder, 'in.zip'), Buffer.concat(chunks));
    const { code, stdout, stderr } = await trace('import', 'in.zip');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(readdirSync(join(workspace.folder, '.svc', 'sessions'))).toEqual([]);
  });

  it('cannot come with a text that its journal does not name', async () => {
    const { folder } = recorded('4f1a');
    const journal = { name: 'journal.jsonl', data: readFileSync(join(folder, 'journal.jsonl')) };
    const other = createHash('sha256').update('x').digest('hex');
    const chunks: Buffer[] = [];
    for await (const chunk of packArchive([journal, { name: `bodies/${other}`, data: Buffer.from('x') }]))
      chunks.push(chunk);
    writeFileSync(join(workspace.folder, 'in.zip'), Buffer.concat(chunks));
    const { code, stderr } = await trace('import', 'in.zip', '--manifest', 'other/svc.yaml');
    expect(code).toBe(1);
    expect(stderr).toContain(`is not an exported session: its journal does not name the text ${other}\n`);
    expect(readdirSync(join(workspace.folder, 'other', '.svc', 'sessions'))).toEqual([]);
  });

  it('cannot come without a text that it names, or from something else than an archive', async () => {
    const { folder } = recorded('4f1a', 'x'.repeat(70_000));
    const data = readFileSync(join(folder, 'journal.jsonl'));
    const chunks: Buffer[] = [];
    for await (const chunk of packArchive([{ name: 'journal.jsonl', data }])) chunks.push(chunk);
    writeFileSync(join(workspace.folder, 'in.zip'), Buffer.concat(chunks));
    expect((await trace('import', 'in.zip')).stderr).toMatch(
      /^error\[E-RUN-074\]: .*: it lacks the text [0-9a-f]{64}\n/,
    );
    writeFileSync(join(workspace.folder, 'in.zip'), 'no archive');
    expect((await trace('import', 'in.zip')).stderr).toMatch(/^error\[E-ART-001\]: /);
  });
});

describe('svc trace rm', () => {
  it('removes what is recorded of sessions, and nothing when one of them runs or is not there', async () => {
    for (const session of ['4f1a', '77c0', 'aaaa']) recorded(session, 'x'.repeat(70_000));
    const forget = writeRunningRecord(workspace.home, { ...liveRecord({}), session_id: id('77c0') });
    const refused = await trace('rm', '4f1a', '77c0');
    expect(refused.stderr).toMatch(
      /^error\[E-RUN-077\]: the session ses_0+77c0 runs\nhint: end it first: svc stop ses_0+77c0\n/,
    );
    expect((await trace('rm', '4f1a', '9999')).stderr).toMatch(/^error\[E-RUN-070\]: /);
    forget();
    expect(readdirSync(join(workspace.folder, '.svc', 'sessions'))).toHaveLength(3);
    expect(await trace('rm', '4f1a', id('4f1a'), '77c0')).toMatchObject({
      code: 0,
      stdout: `${id('4f1a')}\n${id('77c0')}\n`,
    });
    expect(readdirSync(join(workspace.folder, '.svc', 'sessions'))).toEqual([id('aaaa')]);
    expect((await trace('rm')).code).toBe(2);
  });
});
