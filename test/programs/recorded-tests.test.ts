import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';

import { afterEach, describe, expect, it } from 'vitest';

import { packArchive, type PackedFile } from '@svc/artifacts/store/archive-writer.ts';
import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { useCopies } from '../support/copied-workspaces.ts';
import { snapshot } from '../support/folder-snapshot.ts';
import { forgedJournal } from '../support/forged-journal.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

const copyOf = useCopies();
const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

interface Project {
  readonly prompt?: string;
  readonly style?: string;
  readonly shell?: string;
  /** Further lines of the manifest. */
  readonly more?: string;
}

/** The manifest of a reviewer with a prompt file, a skill and a shell. */
function manifestOf({ shell = '[sh]', more = '' }: Project): string {
  return `name: reviewer
version: 1.0.0
artifacts:
  - { name: style, version: 1.0.0, runtime: skill, source: style }
inference:
  model: scripted
  system_prompt_file: prompt.md
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: ${shell} } }
${more}`;
}

/** The project as it is from now on; what is new in its artifacts is meant. */
function write(workspace: Workspace, project: Project = {}): void {
  rmSync(join(workspace.folder, 'svc.lock'), { force: true });
  const { prompt = 'You review code.\nBe brief.\n', style = 'How reviews are written.' } = project;
  workspace.write('svc.yaml', manifestOf(project));
  workspace.write('prompt.md', prompt);
  workspace.write('style/svc.yaml', `name: style\nversion: 1.0.0\nruntime: skill\ndescription: ${style}\n`);
  workspace.write('style/skill.md', 'Short.\n');
}

const turns = script(calls([['s_1', 'style', {}]]), runs('echo fine'), says('All is fine.'));

/** A project with a test `fine` of one session, which calls the skill and a command. */
async function tested(project: Project = {}): Promise<Workspace> {
  return await copyOf(JSON.stringify(project), async () => {
    const workspace = makeWorkspace({ 'script.yaml': turns });
    write(workspace, project);
    await record(workspace, 'fine');
    return workspace;
  });
}

async function record(workspace: Workspace, name: string): Promise<void> {
  const ran = await svc(workspace, ['run', '--task', 'Review it.', '--capture', 'content']);
  expect(ran).toMatchObject({ code: 0 });
  const made = await svc(workspace, ['test', '--record', name]);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^recorded tests/${name}: `)) });
  rmSync(join(workspace.folder, 'workdir'), { recursive: true, force: true });
}

async function test(workspace: Workspace, ...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, ['test', ...args]);
}

/** What one test came to, and where it parted. */
async function verdict(workspace: Workspace, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await test(workspace, '--json', ...args);
  expect(stderr).toBe('');
  return JSON.parse(stdout.split('\n')[0] ?? '') as Record<string, unknown>;
}

/** What each comes to of tests that differ in their expect.yaml alone; none at all for null. One start runs all of them. */
async function verdictsOf(
  workspace: Workspace,
  texts: readonly (string | null)[],
): Promise<readonly Record<string, unknown>[]> {
  const tests = join(workspace.folder, 'tests');
  for (const [index, text] of texts.entries()) {
    const name = `with-${index}`;
    cpSync(join(tests, 'fine'), join(tests, name), { recursive: true });
    if (text === null) rmSync(join(tests, name, 'expect.yaml'));
    else expects(workspace, text, name);
  }
  const { stdout, stderr } = await test(workspace, '--json', ...texts.map((_, index) => `with-${index}`));
  expect(stderr).toBe('');
  for (const index of texts.keys()) rmSync(join(tests, `with-${index}`), { recursive: true });
  const rows = stdout.split('\n').slice(0, texts.length);
  return rows.map((row) => JSON.parse(row) as Record<string, unknown>);
}

function expects(workspace: Workspace, text: string, name = 'fine'): void {
  workspace.write(`tests/${name}/expect.yaml`, text);
}

function expected({ folder }: Workspace, name = 'fine'): string {
  return readFileSync(join(folder, 'tests', name, 'expect.yaml'), 'utf8');
}

/** The journal that a session left. */
function journalOf({ folder }: Workspace): string {
  const sessions = join(folder, '.svc', 'sessions');
  return readFileSync(join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl'), 'utf8');
}

async function pack(workspace: Workspace, files: readonly PackedFile[], name = 'fine'): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(files)) chunks.push(chunk);
  mkdirSync(join(workspace.folder, 'tests', name), { recursive: true });
  writeFileSync(join(workspace.folder, 'tests', name, 'session.zip'), Buffer.concat(chunks));
}

async function packJournal(workspace: Workspace, journal: string, name = 'fine'): Promise<void> {
  await pack(workspace, [{ name: 'journal.jsonl', data: Buffer.from(journal) }], name);
}

describe('svc test', () => {
  it('passes while the project is as it was, and says so in a row each', async () => {
    const workspace = await tested();
    expect(await test(workspace)).toEqual({
      code: 0,
      signal: null,
      stdout: 'ok       fine\n\n1 test: 1 passed\n',
      stderr: '',
    });
    expect(await test(workspace, 'fine')).toMatchObject({ code: 0 });
    expect(await test(workspace, 'tests', 'fine')).toMatchObject({ code: 0 });
    expect(await test(workspace, './tests/')).toMatchObject({ code: 0 });
    const manifest = join(workspace.folder, 'svc.yaml');
    expect(await svc(workspace, ['test', '--manifest', manifest], { cwd: '/' })).toMatchObject({ code: 0 });
  });

  it('differs at #1 /system when the prompt has changed, and shows the line', async () => {
    const workspace = await tested();
    write(workspace, { prompt: 'You review code.\nBe thorough.\n' });
    const { code, stdout, stderr } = await test(workspace);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: [
        'FAILED   fine',
        '',
        'fine differs at #1 /system: the model is asked something else',
        '  - Be brief.',
        '  + Be thorough.',
        '  if this is meant, svc test fine --update keeps the recorded answers, marked stale; for new ones, rm -r tests/fine and record again',
        '',
        '1 test: 0 passed, 1 failed',
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(await verdict(workspace)).toMatchObject({
      outcome: 'failed',
      difference: {
        part: 'request',
        step: 1,
        path: '/system',
        recorded: 'You review code.\nBe brief.\n',
        now: 'You review code.\nBe thorough.\n',
      },
    });
  });

  it('says of a text that it is empty', async () => {
    const workspace = await tested({ prompt: '' });
    write(workspace, { prompt: 'Be brief.' });
    const { stdout } = await test(workspace, '--junit', 'report.xml');
    expect(stdout).toContain('  - (empty)\n  + Be brief.\n');
    expect(readFileSync(join(workspace.folder, 'report.xml'), 'utf8')).toContain('recorded: (empty)\nnow: Be brief.');
  });

  it('differs at the description of a tool that has changed, and at the model', async () => {
    const workspace = await tested();
    write(workspace, { style: 'How reviews should sound.' });
    expect(await verdict(workspace)).toMatchObject({
      difference: { part: 'request', step: 1, path: '/tools/style/description', now: 'How reviews should sound.' },
    });
    write(workspace);
    workspace.write('svc.yaml', manifestOf({}).replace('model: scripted', 'model: other'));
    expect(await verdict(workspace)).toMatchObject({ difference: { step: 1, path: '/model', now: 'other' } });
  });

  it('differs at a grant before anything else', async () => {
    const workspace = await tested();
    write(workspace, { prompt: 'Other.' });
    workspace.write('svc.yaml', manifestOf({}).replace('shell: {', 'network: { allow: [example.com] }, shell: {'));
    expect(await verdict(workspace)).toMatchObject({
      outcome: 'failed',
      difference: {
        part: 'grants',
        step: null,
        path: '/grants/network_allow/example.com',
        recorded: null,
        now: 'granted',
      },
    });
    expect((await test(workspace)).stdout).toContain(
      'fine differs at /grants/network_allow/example.com: something else is granted\n  - (nothing)\n  + granted\n  if this is meant, svc test fine --update takes it into tests/fine/expect.yaml; if not, look at capabilities in the manifest\n',
    );
  });

  it('differs where the manifest lacks a tool that was called', async () => {
    const workspace = await tested();
    write(workspace, { shell: '[wc]' });
    expect(await verdict(workspace)).toMatchObject({ difference: { part: 'grants', path: '/grants/shell_allow/sh' } });
    // No expect.yaml can say it: a call that was recorded is not made again.
    const again =
      'if this is meant, rm -r tests/fine and record again, as what was recorded does not fit any more; if not, look at capabilities in the manifest\n';
    expect((await test(workspace)).stdout).toContain(again);
    expect((await test(workspace, '--update')).stdout).toContain(again);
    expects(workspace, 'ignore: [/grants]\n');
    expect(await verdict(workspace)).toMatchObject({ difference: { part: 'request', step: 1, path: '/tools/sh' } });
    expects(workspace, 'ignore: [/grants]\nrequests: changed\n');
    expect(await verdict(workspace)).toMatchObject({
      difference: { part: 'call', step: 4, problem: 'sh was not asked for again' },
    });
    expect((await test(workspace)).stdout).toContain(
      'fine differs at #4: sh was not asked for again\n  what was recorded does not fit from here on',
    );
    const updated = await test(workspace, '--update');
    expect(updated).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('1 test cannot be updated: record again\n'),
    });
  });

  it('differs where a setting of the loop leads elsewhere', async () => {
    const workspace = await tested();
    workspace.write('svc.yaml', manifestOf({}).replace('model: scripted', 'model: scripted\n  max_turns: 2'));
    expect(await verdict(workspace)).toMatchObject({ difference: { part: 'call' } });
  });

  it('offers a model the same tools as a session does, whatever they are made of', async () => {
    const workspace = makeWorkspace({ 'script.yaml': script(says('Done.')) });
    workspaces.push(workspace);
    write(workspace);
    const more = `lifecycle: { task_acceptance: single, conversation: threaded, shell_grace_secs: 7 }
exports: { peer_files: { root: shared } }
`;
    const others = ['svc-tool-editor', 'svc-tool-request-input'].map(
      (name) => `  - { name: ${name}, version: 1.0.0 }\n`,
    );
    const grants = 'plan: { submit: true }, peer_fetch: { allow: [peer.example] }, shell: {';
    const manifest = manifestOf({ shell: '[sh, wc]', more }).replace('inference:', `${others.join('')}inference:`);
    workspace.write('svc.yaml', manifest.replace('shell: {', grants));
    await record(workspace, 'tools');
    const line = journalOf(workspace)
      .split('\n')
      .find((each) => each.includes('fetch-peer-file'));
    const listed = JSON.parse((JSON.parse(line ?? '') as { data: string }).data) as readonly { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual([
      'fetch-peer-file',
      'sh',
      'share-file',
      'style',
      'submit-plan',
      'svc-tool-editor',
      'svc-tool-request-input',
      'wc',
    ]);
  });

  it(
    'serves what hooks answered, and parts once their verdict counts no more',
    { timeout: compileTimeoutMs },
    async () => {
      const guard = 'binding: on-shell\ncommit_policy: deny';
      const workspace = await hookCapsule({
        hooks: { guard },
        capabilities: '  shell: { allow: [sh] }\n',
        script: script(runs('echo one # [[on-shell deny No shell.]]'), says('Denied.')),
      });
      workspaces.push(workspace);
      await record(workspace, 'denied');
      rmSync(join(workspace.folder, 'guard', 'component.wasm'));
      writeFileSync(join(workspace.folder, 'guard', 'component.wasm'), Buffer.from([0, 97, 115, 109, 13, 0, 1, 0]));
      rmSync(join(workspace.folder, 'svc.lock'));
      expect(await test(workspace)).toMatchObject({ code: 0 });
      workspace.write('guard/svc.yaml', 'name: guard\nversion: 1.0.0\nruntime: hook\nbinding: on-shell\n');
      expect(await verdict(workspace)).toMatchObject({
        difference: {
          part: 'call',
          step: null,
          problem: expect.stringMatching(/^sh was not asked for in the recording/),
        },
      });
      workspace.write('guard/svc.yaml', 'name: guard\nversion: 1.0.0\nruntime: hook\nbinding: on-tool-call\n');
      expect(await verdict(workspace)).toMatchObject({ difference: { part: 'call' } });
    },
  );

  it('holds tasks to the state and the result that are expected', async () => {
    const workspace = await tested();
    expect(
      await verdictsOf(workspace, [
        'tasks: [{ state: completed, result: All is well. }]\n',
        'tasks: [{ state: failed }]\n',
        'tasks: []\n',
        'tasks: [{ state: completed }]\n',
        null,
      ]),
    ).toMatchObject([
      { difference: { part: 'task', path: '/tasks/1/result', recorded: 'All is well.', now: 'All is fine.' } },
      { difference: { path: '/tasks/1/state', now: 'completed' } },
      { difference: { part: 'task', path: '/tasks/1/state' } },
      { outcome: 'passed' },
      { outcome: 'passed' },
    ]);
  });

  it('passes with changed requests where the test says so, and reports that its answers are stale', async () => {
    const workspace = await tested();
    write(workspace, { prompt: 'You review prose.\n' });
    expects(workspace, 'requests: changed\n');
    expect(await test(workspace)).toMatchObject({
      code: 0,
      stdout:
        'stale    fine: the recorded answers were given to other requests, from #1 /system on\n\n1 test: 1 passed (1 stale)\n',
    });
    expect(await verdict(workspace)).toMatchObject({ outcome: 'passed', stale: { step: 1, path: '/system' } });
  });

  it('looks past the paths that a test ignores, and past no other', async () => {
    const workspace = await tested();
    write(workspace, { prompt: 'Other.\n', style: 'Other.' });
    const both = 'ignore: [/tools, /system]\n';
    expect(
      await verdictsOf(workspace, ['ignore: [/system]\n', 'ignore: [/system, /tools/style/description]\n', both]),
    ).toEqual([
      expect.objectContaining({
        difference: expect.objectContaining({ path: '/tools/style/description' }) as unknown,
      }),
      { test: 'with-1', outcome: 'passed', duration_ms: expect.any(Number) },
      expect.objectContaining({ outcome: 'passed' }),
    ]);
    expects(workspace, both);
    write(workspace, { shell: '[sh, wc]' });
    expect(await verdict(workspace)).toMatchObject({ difference: { path: '/grants/shell_allow/wc' } });
  });
});

describe('svc test --update', () => {
  it('shows what it changes in expect.yaml, keeps the rest of it, and finds the next change', async () => {
    const workspace = await tested();
    expects(
      workspace,
      '# Why this is tested.\ntasks:\n  - state: completed # as it should\n    result: All is well.\n',
    );
    write(workspace, { prompt: 'You review prose.\n', shell: '[sh, wc]' });
    const recording = readFileSync(join(workspace.folder, 'tests/fine/session.zip'));
    const { code, stdout } = await test(workspace, '--update');
    expect(code).toBe(0);
    const fingerprint = /requests: (sha256:[0-9a-f]{16})\n/.exec(expected(workspace))?.[1];
    expect(stdout.slice(stdout.indexOf('\nupdate '))).toBe(`
update tests/fine/expect.yaml
    # Why this is tested.
    tasks:
  -   - state: completed # as it should
  -     result: All is well.
  +   - state: completed
  +     result: All is fine.
  + grants:
  +   /shell_allow/wc: granted
  + requests: ${fingerprint}

1 test updated: look at the changes before you commit them
`);
    expect(expected(workspace)).toBe(
      `# Why this is tested.\ntasks:\n  - state: completed\n    result: All is fine.\ngrants:\n  /shell_allow/wc: granted\nrequests: ${fingerprint}\n`,
    );
    expect(readFileSync(join(workspace.folder, 'tests/fine/session.zip'))).toEqual(recording);
    expect(readdirSync(join(workspace.folder, 'tests/fine')).toSorted()).toEqual(['expect.yaml', 'session.zip']);
    expect(await verdict(workspace)).toMatchObject({ outcome: 'passed', stale: { path: '/system' } });
    write(workspace, { prompt: 'You review poems.\n', shell: '[sh, wc]' });
    expect((await test(workspace)).stdout).toContain('the requests have changed again since they were accepted\n');
    write(workspace, { prompt: 'You review prose.\n', shell: '[sh]' });
    expect(await verdict(workspace)).toMatchObject({
      difference: { path: '/grants/shell_allow/wc', recorded: 'granted', now: null },
    });
  });

  it('leaves lists that were written by hand as they stand', async () => {
    const workspace = await tested();
    expects(workspace, 'ignore: [/grants/x, /system]\ntasks: [{state: failed}] # once\n');
    const { code, stdout } = await test(workspace, '--update');
    expect(code).toBe(0);
    expect(stdout).toContain('    ignore: [/grants/x, /system]\n');
    expect(expected(workspace)).toContain('ignore: [/grants/x, /system]\n');
  });

  it('writes an expect.yaml where there was none, and nothing where all passes or nothing helps', async () => {
    const workspace = await tested();
    rmSync(join(workspace.folder, 'tests/fine/expect.yaml'));
    const before = snapshot(workspace);
    expect(await test(workspace, '--update')).toMatchObject({ code: 0, stdout: 'ok       fine\n\n1 test: 1 passed\n' });
    expect(snapshot(workspace)).toEqual(before);
    write(workspace, { prompt: 'Other.\n' });
    expect(await test(workspace, '--update')).toMatchObject({ code: 0 });
    expect(expected(workspace)).toMatch(/^# What this recorded session .*\nrequests: sha256:[0-9a-f]{16}\n$/);
    expect(await test(workspace)).toMatchObject({ code: 0 });
  });
});

describe('svc test --record', () => {
  it('makes a test that a newcomer can read, of the newest session or of another', async () => {
    const workspace = await tested();
    expect(expected(workspace)).toBe(
      '# What this recorded session is expected to come to (svc test).\ndescription: Review it.\ntasks:\n  - state: completed\n    result: All is fine.\n',
    );
    const [session = ''] = readdirSync(join(workspace.folder, '.svc/sessions'));
    const made = await test(workspace, '--record', 'again', '--session', session.slice(-6));
    expect(made).toMatchObject({
      code: 0,
      stdout: `recorded tests/again: 5 steps of ${session}\nok       again\n\n1 test: 1 passed\n`,
    });
    expect((await test(workspace)).stdout).toBe('ok       again\nok       fine\n\n2 tests: 2 passed\n');
    expect((await svc(workspace, ['trace', 'steps', 'tests/again/session.zip'])).stdout).toContain('echo fine');
  });

  it('replaces nothing, whatever the case of the name', async () => {
    const workspace = await tested();
    const before = snapshot(workspace);
    expect(await test(workspace, '--record', 'Fine')).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        'error[E-RUN-066]: there is a test tests/Fine already\nhint: take another name, or remove it first: rm -r tests/Fine\n',
    });
    expect(snapshot(workspace)).toEqual(before);
  });

  it('refuses names that lead elsewhere, sessions without a journal or an end, and leaves nothing behind', async () => {
    const workspace = await tested();
    const before = readdirSync(join(workspace.folder, 'tests'));
    for (const name of ['../x', 'a/b', '.x', '', 'x'.repeat(101)]) {
      expect(await test(workspace, '--record', name)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('E-RUN-063'),
      });
    }
    await svc(workspace, ['run', '--task', 'Go.', '--capture', 'none']);
    const none = await test(workspace, '--record', 'none');
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-071]') });
    expect(none.stderr).toContain('svc run --capture content, then this command again');
    await svc(workspace, ['run', '--task', 'Go.', '--capture', 'meta']);
    expect(await test(workspace, '--record', 'meta')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-RUN-078]'),
    });
    expect(readdirSync(join(workspace.folder, 'tests'))).toEqual(before);
    expect(await test(workspace, '--session', 'x')).toMatchObject({ code: 2 });
    expect(await test(workspace, '--record', 'x', '--update')).toMatchObject({ code: 2 });
  });

  it('refuses a session that took no step, and leaves no test behind', async () => {
    const workspace = await tested();
    write(workspace, { more: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' });
    const { process: running, line } = await startCapsule(workspace, ['--capture', 'content']);
    running.child.kill('SIGTERM');
    await running.ended;
    expect(await test(workspace, '--record', 'idle')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        `error[E-RUN-136]: ${line.session_id} took no step, so a test of it would pass whatever happens\nhint: svc sessions lists others; svc test --record <name> --session <session> takes one of them\n`,
      ),
    });
    expect(readdirSync(join(workspace.folder, 'tests'))).toEqual(['fine']);
  });

  it('refuses a session whose journal is damaged, and leaves no test behind', async () => {
    const workspace = await tested();
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const journal = join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl');
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('echo fine', 'echo evil'));
    expect(await test(workspace, '--record', 'damaged')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('error[E-RUN-073]'),
    });
    expect(readdirSync(join(workspace.folder, 'tests'))).toEqual(['fine']);
  });

  it('reports folders of this machine that the session names', async () => {
    const workspace = await tested();
    workspace.write('script.yaml', script(runs(`echo ${workspace.folder}/x`), says('Done.')));
    await svc(workspace, ['run', '--task', 'Go.', '--capture', 'content']);
    const made = await test(workspace, '--record', 'named');
    expect(made).toMatchObject({ code: 0 });
    expect(made.stderr).toContain(
      `warning[W-RUN-064]: the recording in tests/named names ${workspace.folder}, a folder of this machine, first in #1\n`,
    );
  });
});

describe('svc test --junit', () => {
  const reader = `import json, sys, xml.dom.minidom
document = xml.dom.minidom.parse(sys.argv[1])
suite = document.getElementsByTagName('testsuite')[0]
def of(case):
    children = [each for each in case.childNodes if each.nodeType == 1]
    return [case.getAttribute('name')] + [[each.tagName, each.getAttribute('message'), each.getAttribute('type')] for each in children]
print(json.dumps([{key: suite.getAttribute(key) for key in ['name', 'tests', 'failures', 'errors']}, [of(case) for case in document.getElementsByTagName('testcase')]]))
`;

  it('writes a report that a real XML parser reads (skipped without python3)', async (context) => {
    context.skip(spawnSync('python3', ['-c', '']).status !== 0, 'needs python3, to parse XML');
    const workspace = await tested({ prompt: 'Say <a> & "b"\u0007.\n' });
    for (const name of ['broken', 'stale']) {
      cpSync(join(workspace.folder, 'tests/fine'), join(workspace.folder, 'tests', name), { recursive: true });
    }
    workspace.write('tests/broken/session.zip', 'no archive');
    expects(workspace, 'requests: changed\n', 'stale');
    write(workspace, { prompt: 'Say ]]> \u0001.\n' });
    const ended = await test(workspace, '--junit', 'report.xml');
    expect(ended).toMatchObject({ code: 1 });
    const read = spawnSync('python3', ['-c', reader, join(workspace.folder, 'report.xml')], { encoding: 'utf8' });
    expect(read.stderr).toBe('');
    expect(JSON.parse(read.stdout)).toEqual([
      { name: 'reviewer', tests: '3', failures: '1', errors: '1' },
      [
        ['broken', ['error', expect.stringContaining('tests/broken/session.zip'), 'E-ART-001']],
        ['fine', ['failure', 'differs at #1 /system: the model is asked something else', 'request']],
        ['stale', ['system-out', '', '']],
      ],
    ]);
    expect(await test(workspace, '--junit', 'svc.yaml/report.xml')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-IO-001]'),
    });
  });
});

describe('svc test of bad input', () => {
  it('fails without any test, and for a name that no test has', async () => {
    const workspace = makeWorkspace({ 'script.yaml': turns });
    workspaces.push(workspace);
    write(workspace);
    expect(await test(workspace)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error[E-RUN-062]: there is no folder tests\nhint: record one: svc run, then svc test --record <name>\n',
    });
    workspace.write('tests/unit/a.test.js', '');
    expect(await test(workspace)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no test in tests'),
    });
    expect(await test(workspace, './elsewhere')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('E-RUN-062'),
    });
    await record(workspace, 'fine');
    expect(await test(workspace, 'fien')).toMatchObject({
      code: 1,
      stderr: 'error[E-RUN-062]: there is no test fien in tests\nhint: did you mean fine?\n',
    });
  });

  it('refuses a test and runs the others: damaged, cut off, without texts, no archive, no recording', async () => {
    const workspace = await tested();
    const journal = journalOf(workspace);
    await packJournal(workspace, journal.replace('echo fine', 'echo evil'), 'damaged');
    await packJournal(workspace, journal.slice(0, journal.indexOf('"k":"close"')), 'cut-off');
    await packJournal(workspace, journal.split('\n').slice(0, 1).join('\n'), 'empty');
    await pack(
      workspace,
      [
        { name: 'journal.jsonl', data: Buffer.from(journal) },
        { name: 'x', data: Buffer.from('') },
      ],
      'more',
    );
    workspace.write('tests/no-archive/session.zip', 'PK');
    workspace.write('tests/no-recording/expect.yaml', '');
    const [session = ''] = readdirSync(join(workspace.folder, '.svc/sessions'));
    mkdirSync(join(workspace.folder, 'tests/hashes'));
    await svc(workspace, ['trace', 'export', session, '--redact', '-o', 'tests/hashes/session.zip']);
    const { code, stdout } = await test(workspace, '--json');
    expect(code).toBe(1);
    const rows = stdout
      .split('\n')
      .slice(0, -2)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = rows.map(({ test: name, outcome, problems }) => [
      name,
      outcome,
      (problems as { code: string }[] | undefined)?.[0]?.code,
    ]);
    expect(told).toEqual([
      ['cut-off', 'refused', 'E-RUN-078'],
      ['damaged', 'refused', 'E-RUN-073'],
      ['empty', 'refused', 'E-RUN-078'],
      ['fine', 'passed', undefined],
      ['hashes', 'refused', 'E-RUN-078'],
      ['more', 'refused', 'E-RUN-074'],
      ['no-archive', 'refused', 'E-ART-001'],
      ['no-recording', 'refused', 'E-RUN-063'],
    ]);
    expect((await test(workspace, 'no-recording')).stdout).toContain(
      'REFUSED  no-recording\n\nno-recording cannot be run\nerror[E-RUN-063]: the test tests/no-recording holds no session.zip\n',
    );
  });

  it('refuses links: a folder, a recording, an expectation', async () => {
    const workspace = await tested();
    const tests = join(workspace.folder, 'tests');
    renameSync(join(tests, 'fine'), join(workspace.folder, 'kept'));
    symlinkSync('../kept', join(tests, 'folder'));
    for (const file of ['session.zip', 'expect.yaml']) {
      cpSync(join(workspace.folder, 'kept'), join(tests, `link-${file}`), { recursive: true });
      rmSync(join(tests, `link-${file}`, file));
      symlinkSync(join(workspace.folder, 'kept', file), join(tests, `link-${file}`, file));
    }
    const { code, stdout } = await test(workspace);
    expect(code).toBe(1);
    expect([...stdout.matchAll(/^error\[(.*)\]: (.*)$/gm)].map(([, ...told]) => told)).toEqual([
      ['E-RUN-063', 'the test tests/folder is a link'],
      ['E-RUN-063', 'the test tests/link-expect.yaml has an expect.yaml that is a link'],
      ['E-RUN-063', 'the test tests/link-session.zip has a session.zip that is a link'],
    ]);
  });

  it('refuses a folder whose name is not UTF-8, and runs the others', async (context) => {
    context.skip(process.platform === 'darwin', 'its file systems have no such names');
    const workspace = await tested();
    const odd = Buffer.concat([Buffer.from(join(workspace.folder, 'tests/q')), Buffer.from([0xff, 0x41])]);
    mkdirSync(odd);
    writeFileSync(Buffer.concat([odd, Buffer.from('/expect.yaml')]), '');
    const refused =
      'q\\xffA cannot be run\nerror[E-RUN-063]: the test tests/q\\xffA has a name that is not UTF-8\nhint: rename it: a name is made of letters, digits, dots, hyphens and underscores\n';
    expect(await test(workspace)).toMatchObject({
      code: 1,
      stdout: `ok       fine\nREFUSED  q\\xffA\n\n${refused}\n2 tests: 1 passed, 1 refused\n`,
    });
    expect(await test(workspace, 'fine')).toMatchObject({ code: 0 });
    rmSync(join(workspace.folder, 'tests/fine'), { recursive: true });
    expect(await test(workspace)).toMatchObject({
      code: 1,
      stdout: `REFUSED  q\\xffA\n\n${refused}\n1 test: 0 passed, 1 refused\n`,
    });
  });

  it('refuses two tests whose names differ in case alone', async () => {
    const workspace = await tested();
    cpSync(join(workspace.folder, 'tests/fine'), join(workspace.folder, 'tests/Fine'), { recursive: true });
    expect(await test(workspace)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error\[E-RUN-063\]: the tests Fine and fine in tests have names that differ only in case\n/,
      ),
    });
  });

  it('refuses an expect.yaml with its place and the near key', async () => {
    const workspace = await tested();
    const refusals = [
      ['request: changed\n', 1, 1, 'request in line 1 is not a known key', 'did you mean requests?'],
      [
        'tasks:\n  - { stat: completed }\n',
        2,
        7,
        'stat of tasks[0] in line 2 is not a known key',
        'did you mean state?',
      ],
      [
        'tasks:\n  - { state: complete }\n',
        2,
        14,
        'tasks[0].state must be one of completed, failed, canceled, not "complete"',
        'did you mean completed?',
      ],
      ['ignore: [/sistem]\n', 1, 10, 'ignore[0] ("/sistem") names nothing that is compared', 'did you mean /system?'],
      [
        'requests: any\n',
        1,
        11,
        'requests must be recorded, changed or the sha256:… that --update wrote, not "any"',
        null,
      ],
      ['ignore: [\n', 2, 1, '', null],
    ] as const;
    for (const [index, [text]] of refusals.entries()) {
      cpSync(join(workspace.folder, 'tests/fine'), join(workspace.folder, `tests/with-${index}`), { recursive: true });
      expects(workspace, text, `with-${index}`);
    }
    const { code, stdout } = await test(workspace);
    expect(code).toBe(1);
    const told = stdout.split(/^with-\d cannot be run\n/m).slice(1);
    expect(told).toHaveLength(refusals.length);
    for (const [index, [, line, column, message, hint]] of refusals.entries()) {
      expect(told[index]).toContain(`error[E-RUN-065]: ${message}`);
      expect(told[index]).toContain(`tests/with-${index}/expect.yaml:${line}:${column}`);
      if (hint !== null) expect(told[index]).toContain(`hint: ${hint}\n`);
    }
  });

  it('refuses an archive that unpacks to more than it may, before it is on the disk', async () => {
    const workspace = await tested();
    workspace.write('tests/bomb/session.zip', '');
    writeFileSync(join(workspace.folder, 'tests/bomb/session.zip'), bomb(2 * 1024 ** 3));
    const { code, stdout } = await test(workspace, 'bomb');
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/error\[E-ART-00[123]\]/) });
  });

  it('refuses a forged recording that holds what no session has met, and never takes it for a bug', async () => {
    const workspace = await tested();
    const journal = journalOf(workspace);
    const odd = ['null', '[]', '7', '"x"', '{}', '{"kind":"response"}', '{"kind":"response","response":{"content":7}}'];
    for (const [index, value] of odd.entries()) {
      const forged = forgedJournal(journal, (text) => (text.startsWith('{"kind":"response"') ? value : text));
      await packJournal(workspace, forged, `answer-${index}`);
    }
    for (const [index, value] of odd.entries()) {
      const forged = forgedJournal(journal, (text) => (text.startsWith('{"status":"passed"') ? value : text));
      await packJournal(workspace, forged, `result-${index}`);
    }
    for (const [index, value] of odd.entries()) {
      const forged = forgedJournal(journal, (text) =>
        text.startsWith('{"containment"') || text.startsWith('{"inference"') ? value : text,
      );
      await packJournal(workspace, forged, `setup-${index}`);
    }
    const { code, stdout, stderr } = await test(workspace, '--json');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const rows = stdout
      .split('\n')
      .slice(0, -2)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(3 * odd.length + 1);
    expect(rows.filter(({ test: name, outcome }) => (outcome === 'passed') !== (name === 'fine'))).toEqual([]);
  });
});

/** An archive whose journal is zeros without end, and says of itself to be small. */
function bomb(bytes: number): Buffer {
  const chunk = deflateRawSync(Buffer.alloc(bytes / 8), { level: 9 });
  const name = Buffer.from('journal.jsonl');
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(20, 4);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(chunk.length, 18);
  local.writeUInt32LE(1000, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  central.writeUInt16LE(20, 6);
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(chunk.length, 20);
  central.writeUInt32LE(1000, 24);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length + chunk.length, 16);
  return Buffer.concat([local, name, chunk, central, name, end]);
}

describe('svc test reaches nothing', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'runs where there is no network and no program, and writes nothing into the project (needs root, to take the network away)',
    async () => {
      const workspace = await tested();
      // What another version of Node has compiled it does not take, and keeps its own in the home.
      await svc(workspace, ['test']);
      const before = snapshot(workspace);
      const { status, stdout } = spawnSync('/usr/bin/unshare', ['-n', process.execPath, program, 'test'], {
        cwd: workspace.folder,
        env: { PATH: '/nowhere', HOME: workspace.home },
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'ok       fine\n\n1 test: 1 passed\n' });
      expect(snapshot(workspace)).toEqual(before);
    },
  );

  it('leaves nothing in the folder for temporary files', async () => {
    const workspace = await tested();
    const scratch = join(workspace.home, 'tmp');
    mkdirSync(scratch);
    workspace.write('tests/broken/session.zip', 'PK');
    await svc(workspace, ['test'], { env: { TMPDIR: scratch } });
    expect(readdirSync(scratch)).toEqual([]);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });
});
