import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { cpSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { ask, type RunLine, svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { ViewProcess } from '../support/view-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const env = { SVC_CONTAINMENT_CEILING: 'sealed' };
const manifest = `capabilities: { shell: { allow: [touch, sh] } }
approvals:
  answer: [terminal, door]
  rules:
    - ask: { command: [touch, "**"] }
    - ask: { command: [sh, "**"] }
`;

function pushing(...commands: readonly string[]): Workspace {
  const made = commands.map((command, at) => [`c${at}`, 'touch', { command }] as const);
  return capsule({ manifest, script: script(calls(made), says('Done.')) });
}

type Record_ = Readonly<Record<string, unknown>>;

interface Ended {
  readonly session: string;
  readonly made: readonly string[];
  readonly warnings: string;
  readonly records: readonly Record_[];
}

/** Runs it where nobody can be asked. */
async function alone(workspace: Workspace): Promise<Ended> {
  const { code, stdout, stderr } = await svc(workspace, ['run', '--json', '--task', 'Push.'], { env });
  expect(code).toBe(0);
  const { workdir, session_id: session } = JSON.parse(stdout.split('\n')[0] ?? '') as RunLine;
  const made = readdirSync(workdir).filter((name) => name.startsWith('pushed'));
  const [warnings = ''] = /^warning\[W-APR-00[67]\]: .*/m.exec(stderr) ?? [];
  return { session, made, warnings, records: recordsOf(workspace, session) };
}

function recordsOf(workspace: Workspace, session: string): readonly Record_[] {
  const path = join(workspace.folder, '.svc', 'sessions', session, 'approvals.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record_);
}

function asked(workspace: Workspace): TerminalProcess {
  const running = new TerminalProcess(workspace, ['run', '--task', 'Push.'], { env, columns: 120 });
  cleanups.push(() => running.child.kill('SIGKILL'));
  return running;
}

const withAlways = /^run it\? y once, s in this session, a in every session, n no >$/;

async function typed(running: TerminalProcess, keys: string, shown = withAlways): Promise<void> {
  await running.shows(shown);
  // What is typed sooner answers nothing.
  await new Promise((resolve) => setTimeout(resolve, 400));
  running.type(keys);
}

/** A person allows the call in every session. */
async function kept(workspace: Workspace): Promise<void> {
  const running = asked(workspace);
  await typed(running, 'a\r');
  expect(await running.ended).toBe(0);
  expect(callsIn(workspace)).toEqual(['["touch","pushed"]']);
}

function store({ home }: Workspace): string {
  return join(home, '.svc', 'approvals');
}

function keptFiles(workspace: Workspace): readonly string[] {
  return readdirSync(store(workspace)).filter((name) => !name.startsWith('.'));
}

function file(workspace: Workspace): string {
  const names = keptFiles(workspace);
  expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/)]);
  return join(store(workspace), names[0] ?? '');
}

/** The running session's own, or the last one's that was killed. */
function recordOf({ home }: Workspace): { readonly url: string; readonly pid: number } {
  const folder = join(home, '.svc', 'running');
  const records = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const made = (name: string): number => statSync(join(folder, name)).ctimeMs;
  const newest = records.toSorted((one, other) => made(other) - made(one))[0] ?? '';
  return JSON.parse(readFileSync(join(folder, newest), 'utf8')) as { url: string; pid: number };
}

interface Open {
  readonly id: string;
  readonly digest: string;
  readonly session: string;
}

async function waiting(workspace: Workspace): Promise<Open> {
  const listed = await svc(workspace, ['approve', '--list', '--json'], { env });
  const [open] = (JSON.parse(listed.stdout) as { approvals: readonly Open[] }).approvals;
  if (open === undefined) throw new Error('nothing waits');
  return open;
}

describe.skipIf(!hasPseudoTerminals())('a call that is allowed in every session (skipped without python3)', () => {
  it.each<readonly [string, (workspace: Workspace, running: TerminalProcess, open: Open) => Promise<void>, string]>([
    ['at the terminal', async (_, running) => await typed(running, 'a\r'), 'terminal'],
    [
      'with svc approve',
      async (workspace, _, { id }) => {
        const answered = await svc(workspace, ['approve', id, '--allow', '--always'], { env });
        expect([answered.code, answered.stdout]).toEqual([0, `${id} allow\n`]);
      },
      'person',
    ],
    [
      'on the page',
      async (workspace, _, { id, digest, session }) => {
        const view = await ViewProcess.start(workspace, [session], { env });
        const answer = { id, digest, decision: 'allow', option: 'manifest' };
        const { text } = await view.call(session, 'approvals/answer', answer);
        expect(JSON.parse(text)).toMatchObject({ result: { id, decision: 'allow', by: 'person' } });
      },
      'person',
    ],
    [
      'over JSON-RPC',
      async (workspace, _, { id, digest }) => {
        const token = (await svc(workspace, ['token', 'add', 'anna', '--scope', 'answer'])).stdout.trim();
        const { url } = recordOf(workspace);
        const params = { id, digest, decision: 'allow', option: 'manifest' };
        const answered = await ask(url, 'approvals/answer', params, token);
        expect(answered).toMatchObject({ result: { id, decision: 'allow', by: 'token:anna' } });
      },
      'token:anna',
    ],
  ])(
    'runs in the next one without a question once it was allowed %s',
    async (_, answer, by) => {
      const workspace = pushing('pushed');
      const running = asked(workspace);
      await running.shows(withAlways);
      const open = await waiting(workspace);
      await answer(workspace, running, open);
      expect(await running.ended).toBe(0);
      expect(recordsOf(workspace, open.session)).toMatchObject([
        { k: 'asked' },
        { k: 'settled', decision: 'allow', option: 'manifest', by },
        { k: 'started' },
      ]);
      const { made, records, session, warnings } = await alone(workspace);
      expect([made, records, warnings]).toEqual([
        ['pushed'],
        [{ k: 'started', at: expect.any(Number), id: open.id, digest: open.digest }],
        '',
      ]);
      expect([statSync(store(workspace)).mode & 0o777, statSync(file(workspace)).mode & 0o777]).toEqual([0o700, 0o600]);
      for (const each of by === 'person' ? [] : [open.session, session]) {
        expect(await svc(workspace, ['run', '--replay', each], { env })).toMatchObject({ code: 0, stderr: '' });
      }
    },
    120_000,
  );

  it('stays whole in its file, also where two capsules are answered at once and where one is killed', async () => {
    const workspace = pushing('pushed', 'pushed-too');
    const answer = async (running: TerminalProcess, file: string): Promise<void> => {
      await running.shows(new RegExp(`^ {2}"touch" "${file}"$`));
      await typed(running, 'a\r');
    };
    const both = [asked(workspace), asked(workspace)];
    await Promise.all(both.map(async (running) => await answer(running, 'pushed')));
    await Promise.all(both.map(async (running) => await running.shows(/^ {2}"touch" "pushed-too"$/)));
    expect(callsIn(workspace)).toEqual(['["touch","pushed"]']);
    await Promise.all(both.map(async (running) => await answer(running, 'pushed-too')));
    for (const running of both) expect(await running.ended).toBe(0);
    expect(callsIn(workspace)).toEqual(['["touch","pushed"]', '["touch","pushed-too"]']);
    expect(await alone(workspace)).toMatchObject({ made: ['pushed', 'pushed-too'], warnings: '' });
    for (const ms of [0, 5, 10, 20, 40]) {
      rmSync(store(workspace), { recursive: true, force: true });
      const running = asked(workspace);
      await answer(running, 'pushed');
      await new Promise((resolve) => setTimeout(resolve, ms));
      const { pid } = recordOf(workspace);
      process.kill(pid, 'SIGKILL');
      await running.ended;
      const files = existsSync(store(workspace)) ? keptFiles(workspace) : [];
      expect(files.length === 0 || callsIn(workspace)[0] === '["touch","pushed"]').toBe(true);
    }
    const { made, warnings } = await alone(workspace);
    expect([made.length <= 1, warnings]).toEqual([true, '']);
  }, 120_000);

  it('stands in the list of svc approve, and needs a person again once it is forgotten', async () => {
    const workspace = pushing('pushed');
    await kept(workspace);
    const { stdout } = await svc(workspace, ['approve', '--list', '--json'], { env });
    const { kept: listed } = JSON.parse(stdout) as { kept: readonly { id: string }[] };
    expect(listed).toEqual([
      {
        manifest: join(workspace.folder, 'svc.yaml'),
        id: expect.stringMatching(/^apr_/),
        at: expect.any(Number),
        by: 'terminal',
        call: '["touch","pushed"]',
      },
    ]);
    const id = listed[0]?.id ?? '';
    expect((await svc(workspace, ['approve', '--list'], { env })).stdout).toBe(
      `nothing waits for approval\n${id} ["touch","pushed"] runs in every session of "${workspace.folder}/svc.yaml"\n`,
    );
    for (const wrong of [[], ['nothing']]) {
      const { code, stderr } = await svc(workspace, ['approve', '--forget', ...wrong], { env });
      expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-APR-003]: ')]);
    }
    const forgotten = await svc(workspace, ['approve', '--forget', id.slice(-8)], { env });
    expect([forgotten.code, forgotten.stdout]).toEqual([0, 'forgot 1 of 1\n']);
    expect(readdirSync(store(workspace))).toEqual([]);
    expect((await alone(workspace)).made).toEqual([]);
  }, 60_000);

  it('needs a person again, with a warning, once the manifest has other rules, grants or artifacts', async () => {
    const workspace = pushing('pushed');
    await kept(workspace);
    const path = join(workspace.folder, 'svc.yaml');
    const before = readFileSync(path, 'utf8');
    const approved = file(workspace);
    const calls = readFileSync(approved);
    for (const changed of [
      before.replace('[sh, "**"]', '[sh, "-c", "**"]'),
      before.replace('[touch, sh]', '[touch, sh, cat]'),
      `${before}artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n`,
    ]) {
      expect(changed).not.toBe(before);
      writeFileSync(approved, calls, { mode: 0o600 });
      writeFileSync(path, changed);
      const { made, warnings } = await alone(workspace);
      expect([made, warnings]).toEqual([[], expect.stringContaining('warning[W-APR-006]: a call approved for every')]);
    }
    // What was dropped does not come back with the old text.
    writeFileSync(path, before);
    expect(await alone(workspace)).toMatchObject({ made: [], warnings: '' });
    // It was the text alone: the same file counts again.
    writeFileSync(approved, calls, { mode: 0o600 });
    expect(await alone(workspace)).toMatchObject({ made: ['pushed'], warnings: '' });
  }, 60_000);

  it('needs a person for another manifest, program or workdir', async () => {
    const workspace = pushing('pushed');
    await kept(workspace);
    const copy = { ...workspace, folder: `${workspace.folder}-copy` };
    cpSync(workspace.folder, copy.folder, { recursive: true });
    cleanups.push(() => rmSync(copy.folder, { recursive: true }));
    expect((await alone(copy)).made).toEqual([]);
    const other = join(workspace.folder, 'other');
    mkdirSync(other);
    await svc(workspace, ['run', '--json', '--task', 'Push.', '--workdir', other], { env });
    expect(readdirSync(other)).not.toContain('pushed');
    const programs = join(workspace.home, 'programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'touch'), '#!/bin/sh\n/bin/touch pushed-by-another\n', { mode: 0o755 });
    const PATH = `${programs}:${process.env['PATH']}`;
    const { stdout } = await svc(workspace, ['run', '--json', '--task', 'Push.'], { env: { ...env, PATH } });
    expect(readdirSync((JSON.parse(stdout.split('\n')[0] ?? '') as RunLine).workdir)).not.toContain(
      'pushed-by-another',
    );
    renameSync(workspace.folder, `${workspace.folder}-moved`);
    cleanups.push(() => rmSync(`${workspace.folder}-moved`, { recursive: true }));
    expect((await alone({ ...workspace, folder: `${workspace.folder}-moved` })).made).toEqual([]);
    expect((await alone(workspace).catch(() => null)) === null).toBe(true);
  }, 60_000);

  it('leaves out lines that nobody can read for sure, and programs that are not found', async () => {
    const opaque = capsule({
      manifest,
      script: script(
        calls([['c1', 'sh', { command: 'touch $HOME' }]]),
        calls([['c2', 'sh', { command: './pushed-by-model' }]]),
        says('Done.'),
      ),
    });
    const running = asked(opaque);
    await typed(running, 'n\r', /^run it\? y once, n no >$/);
    await typed(running, 'n\r', /^run it\? y once, s in this session, n no >$/);
    expect(await running.ended).toBe(0);
    expect(recordsOf(opaque, sessionOf(opaque)).filter(({ k }) => k === 'settled')).toMatchObject([
      { decision: 'deny' },
      { decision: 'deny' },
    ]);
    expect(existsSync(store(opaque))).toBe(false);
  }, 60_000);

  it('does not count where it cannot be written, and the same warning says so', async () => {
    const workspace = pushing('pushed');
    const running = asked(workspace);
    await running.shows(/^run it\? y once/);
    writeFileSync(store(workspace), '');
    await typed(running, 'a\r');
    expect(await running.ended).toBe(0);
    const shown = running.terminal.rows.join('\n');
    expect(shown).toContain('warning[W-APR-007]: an approval was not kept: ');
    expect(shown).not.toContain('E-IO-001');
  }, 60_000);

  it('does not count where others could have written its file, a warning says so, and all can be forgotten', async () => {
    const workspace = pushing('pushed');
    await kept(workspace);
    chmodSync(file(workspace), 0o660);
    const { made, warnings } = await alone(workspace);
    expect([made, warnings]).toEqual([[], expect.stringContaining('warning[W-APR-007]: ')]);
    expect(warnings).toContain('can be read or written by other users');
    const running = asked(workspace);
    await typed(running, 'n\r', /^run it\? y once, s in this session, n no >$/);
    expect(await running.ended).toBe(0);
    expect((await svc(workspace, ['approve', '--forget', 'all'], { env })).code).toBe(0);
    expect(await alone(workspace)).toMatchObject({ made: [], warnings: '' });
  }, 60_000);
});

function sessionOf({ folder }: Workspace): string {
  return readdirSync(join(folder, '.svc', 'sessions'))[0] ?? '';
}

function callsIn(workspace: Workspace): readonly string[] {
  const kept = JSON.parse(readFileSync(file(workspace), 'utf8')) as { calls: readonly { call: string }[] };
  return kept.calls.map(({ call }) => call).toSorted();
}
