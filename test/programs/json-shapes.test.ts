import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { commandTree } from '@svc/svc/program/command-tree.ts';
import { commands } from '@svc/svc/program/commands.ts';
import { helpOf } from '@svc/svc/program/help/man-page.ts';
import { commandsBelow } from '@svc/svc/program/placed-commands.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { MetadataMirror } from '../../packages/artifacts/test/trust/metadata-mirror.ts';
import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';
import { SkillRegistry } from '../support/published-skills.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { type RunLine, startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

/** The keys of the objects that each command writes with `--json`, in their order. One that takes several shapes has one here. */
const shapes: Readonly<Record<string, string>> = {
  build: 'path name version kind sha256 bytes',
  completion: 'shell script',
  doctor:
    'node home home_writable containment mechanism userns_grant not_stronger helper https_proxy http_proxy no_proxy logins problems',
  explain: 'code title explanation',
  help: 'commands',
  logs: 'step source name output file offset text',
  new: 'path name kind files',
  prune: 'kind name paths bytes at_ms outcome',
  ps: 'session_id url address pid process_start name version workdir session_directory started_at_ms',
  publish: 'name version platforms sha256 registry signed_by',
  sign: 'path sha256 signed_by',
  verify: 'name version platform origin sha256 state signed_by code',
  'key card': 'kid path is_new jwk',
  'key new': 'private_key public_key fingerprint encrypted',
  'trust update': 'path changed version expires',
  run: 'url pid session_id name version workdir',
  search: 'name version kind platforms description tags state registry',
  sessions:
    'session_id capsule version folder started_at_ms status duration_ms model tasks tokens unread_lines task steps journal journal_removed_at_ms asks',
  'trace diff': 'step before messages same_messages misses',
  'trace export': 'path session is_redacted damage',
  'trace list':
    'session_id capsule version folder started_at_ms status duration_ms model tasks tokens unread_lines task steps journal journal_removed_at_ms',
  'trace show':
    'at version session epoch svc node capture trusted capsule status steps manifest lock system tools grants hooks settings later_grants',
  'trace steps': 'step place port name turn started_at_ms duration_ms lost stop usage exit is_error calls',
  view: 'url port session read_only',
  watch: 'event data',
  answer: 'session task context state is_answer message prompt response',
  approve: 'approvals kept',
  send: 'session task context state is_answer message prompt response',
  cancel: 'session task context state is_answer message prompt response',
  tasks: 'task context state received_at_ms ended_at_ms tokens text prompt reason',
  stop: 'session canceled residue ended',
  test: 'test outcome duration_ms',
  install: 'name version origin platform sha256',
  login: 'server issuer scope folder',
  logout: 'server revoked',
  add: 'name before after range bytes sha256 signed_by lines outcome',
  remove: 'name before after range bytes sha256 signed_by lines outcome',
  update: 'name before after range bytes sha256 signed_by lines outcome',
  outdated: 'name current wanted latest range state reason signed_by wanted_signatures',
  info: 'name version state reason archives here',
  deprecate: 'name version state reason registry',
  yank: 'name version state reason registry',
  block: 'name version state reason registry',
  restore: 'name version state reason registry',
  list: 'name version kind origin platform sha256 location signatures signed_by left_out',
  'token add': 'name scopes capsule created_at_ms expires_at_ms token',
  'token ls': 'name scopes capsule created_at_ms expires_at_ms has_expired',
  'token rm': 'name',
  'trace rm': 'session',
  'trace import': 'session path',
};

const context = {
  cwd: '/',
  home: '/',
  env: {},
  stdout: new Output(() => new PassThrough()),
  stderr: new Output(() => new PassThrough()),
};
const tree = await commandTree(commands, context);
/** Commands that do something, by the words that lead to them. */
const leaves = commandsBelow(tree).filter(({ command }) => command.commands.length === 0);

/** Read keys and draw, or speak a protocol of their own: there is nothing beside that a program could read. */
const interactive: ReadonlySet<string> = new Set(['chat', 'serve mcp', 'serve acp']);
const scripted = leaves.filter(({ path }) => !interactive.has(path));

describe('each command', () => {
  it.each([...interactive])('svc %s has an example', (path) => {
    expect(examplesOf(path).length).toBeGreaterThan(0);
  });

  it.each(scripted)('svc $path takes --json, has an example, and its shape stands here', ({ path, command }) => {
    expect(command.options.map(({ long }) => long)).toContain('--json');
    expect(examplesOf(path).length).toBeGreaterThan(0);
    expect(Object.keys(shapes)).toContain(path);
  });

  it.each(leaves.flatMap(({ path }) => examplesOf(path).map((line) => ({ line }))))(
    'can be called as $line',
    async ({ line }) => {
      const calls: string[] = [];
      const program = await commandTree(commands, context);
      program.exitOverride().configureOutput({ writeErr: () => {} });
      for (const { command, path } of commandsBelow(program)) {
        command.exitOverride();
        if (command.commands.length === 0) command.action(() => void calls.push(path));
      }
      await program.parseAsync(wordsOf(line).slice(1), { from: 'user' });
      expect(calls).toHaveLength(1);
    },
  );

  it('shows its example to who asks for help', async () => {
    const workspace = scriptCapsule();
    const { stdout } = await svc(workspace, ['run', '--help']);
    const below = await svc(workspace, ['trace', 'show', '--help']);
    const helped = await svc(workspace, ['help', 'trace', 'show']);
    workspace.remove();
    expect(stdout).toMatch(/\n\nExamples:\n {2}svc run --task "Do the tests pass\?"\n/);
    expect(below.stdout).toMatch(/\n\nExamples:\n {2}svc trace show 4f1a\n {2}svc trace show 4f1a#7\n$/);
    expect(helped).toEqual(below);
  });
});

/** The lines below `Example:` in the help of a command. */
function examplesOf(path: string): readonly string[] {
  const found = leaves.find((each) => each.path === path);
  const help = found === undefined ? '' : helpOf(found.command);
  return (/^Examples?:\n([^]*)$/m.exec(help)?.[1] ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('svc '));
}

/** Words of an example; some stand in quotes. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

describe('--json', () => {
  let workspace: Workspace;
  let running: SvcProcess;
  let line: RunLine;
  const seen = new Map<string, string>();

  /** Runs a command with `--json`, and notes the keys of its first object. */
  async function note(path: string, args: readonly string[], code = 0): Promise<string> {
    const end = await svc(workspace, [...path.split(' '), ...args, '--json']);
    expect({ path, code: end.code, stderr: end.code === code ? '' : end.stderr }).toEqual({ path, code, stderr: '' });
    noteLine(path, end.stdout);
    return end.stdout;
  }

  function noteLine(path: string, stdout: string): void {
    for (const each of stdout.trimEnd().split('\n')) JSON.parse(each);
    const first = JSON.parse(stdout.split('\n')[0] ?? '') as object;
    seen.set(path, Object.keys(first).join(' '));
  }

  beforeAll(async () => {
    workspace = scriptCapsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]
`,
      script: script(
        { ...asks('Which colour?'), when: 'Ask' },
        { ...says('Late.'), when: 'Hang', delay_ms: 600_000 },
        { ...says('Done.'), when: 'Begin' },
        says('Blue.'),
      ),
    });
    const session = new RecordedSession(workspace.folder, { session: '4f1a' })
      .task('Do the tests pass?')
      .model('I run them.', ['sh'])
      .shell('npm test', '2 tests failed', 1)
      .model('No.')
      .taskEnd('No.')
      .close();
    mkdirSync(join(session.folder, 'logs'));
    writeFileSync(join(session.folder, 'logs', '1-sh-stdout.log'), '2 tests failed\n');
    ({ process: running, line } = await startCapsule(workspace, ['--task', 'Begin.', '--capture', 'content']));
    noteLine('run', running.stdout);
  }, 60_000);

  afterAll(async () => {
    running.child.kill('SIGKILL');
    await running.ended;
    workspace.remove();
  });

  it('writes what sessions and tasks print', async () => {
    await note('ps', []);
    await note('sessions', []);
    const watching = new SvcProcess(workspace, ['watch', '--json']);
    const [frame] = await watching.printed(/^.*\n/);
    noteLine('watch', frame);
    watching.child.kill('SIGTERM');
    await watching.ended;
    expect((await svc(workspace, ['send', line.session_id, 'Ask me.', '--wait'])).code).toBe(1);
    await note('tasks', [line.session_id]);
    await note('approve', ['--list']);
    await note('answer', [line.session_id, 'blue']);
    await note('send', [line.session_id, 'Hang.']);
    await note('cancel', [line.session_id]);
    await note('stop', [line.session_id]);
    await running.ended;
  }, 60_000);

  it('writes of recorded sessions what they did', async () => {
    for (const command of ['list', 'steps', 'show', 'diff']) {
      await note(`trace ${command}`, command === 'list' ? [] : ['4f1a']);
    }
    await note('logs', ['4f1a']);
    const viewing = new SvcProcess(workspace, ['view', '4f1a', '--json']);
    const [page] = await viewing.printed(/^.*\n/);
    noteLine('view', page);
    viewing.child.kill('SIGTERM');
    await viewing.ended;
    await note('prune', ['--keep', '0', '--dry-run']);
    await note('trace export', ['4f1a', '--output', 'session.zip']);
    await note('trace rm', ['4f1a']);
    await note('trace import', ['session.zip']);
    const workspaceOfTest = scriptCapsule();
    expect((await svc(workspaceOfTest, ['run', '--task', 'Begin.', '--capture', 'content'])).code).toBe(0);
    const { code, stdout } = await svc(workspaceOfTest, ['test', '--record', 'begins', '--json']);
    workspaceOfTest.remove();
    expect(code).toBe(0);
    noteLine('test', stdout);
  }, 60_000);

  it('writes of artifacts what is known of them', async () => {
    await note('new', ['skill', 'notes']);
    await note('build', ['notes']);
    await note('publish', ['notes', '--registry', 'local']);
    await note('search', ['notes', '--registry', 'local']);
    await note('install', ['notes@0.1.0', '--registry', 'local']);
    await note('list', ['--all']);
    await note('key new', ['mine']);
    await note('sign', ['notes-0.1.0.zip', '--key', 'mine.key']);
    await note('verify', ['--all']);
    const mirror = await MetadataMirror.open();
    workspace.write('root.json', mirror.root());
    mirror.publish('{"tlogs":[],"ctlogs":[],"certificateAuthorities":[],"timestampAuthorities":[]}');
    await note('trust update', ['--mirror', mirror.url, '--initial', 'root.json']);
    const asked = ['new', 'build', 'publish', 'search', 'install', 'list', 'key new', 'sign', 'verify', 'trust update'];
    expect([...seen.keys()]).toEqual(expect.arrayContaining(asked));
  }, 60_000);

  it('writes of what a project uses how it changes', async () => {
    const registry = await SkillRegistry.open();
    for (const version of ['1.0.0', '1.1.0']) await registry.publish('tone', version);
    const source = `{ name: team, type: registry, url: "${registry.url}", token: ${registry.env['REGISTRY_API_KEY'] ?? ''} }`;
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    writeFileSync(join(workspace.home, '.svc', 'config.yaml'), `registry: { default: team, sources: [${source}] }\n`);
    expect((await svc(workspace, ['add', 'tone@1.0.0'])).code).toBe(0);
    await note('outdated', []);
    await note('update', ['--latest', '--dry-run']);
    await note('add', ['tone@^1.0.0']);
    await note('info', ['tone']);
    for (const command of ['deprecate', 'yank', 'block']) await note(command, ['tone@1.0.0', '--reason', 'old']);
    await note('restore', ['tone@1.0.0']);
    await note('remove', ['tone']);
    const changing = ['add', 'remove', 'update', 'outdated', 'info', 'deprecate', 'yank', 'block', 'restore'];
    expect([...seen.keys()]).toEqual(expect.arrayContaining(changing));
  }, 60_000);

  it('writes of svc itself what there is to say', async () => {
    await note('key card', []);
    await note('doctor', []);
    await note('explain', ['E-MAN-003']);
    await note('help', ['trace']);
    await note('completion', ['bash']);
    await note('token add', ['phone', '--scope', 'read']);
    await note('token ls', []);
    await note('token rm', ['phone']);
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['key card', 'doctor', 'explain', 'help', 'completion']));
  }, 60_000);

  it('does not change the exit code, and leaves standard output empty where a command fails', async () => {
    for (const args of [
      ['explain', 'E-NON-000'],
      ['stop', 'ffff'],
      ['logs', 'ffff'],
      ['trace', 'show', 'ffff'],
      ['list', '--manifest', 'none.yaml'],
      ['help', 'nothing'],
    ]) {
      const [plain, json] = [await svc(workspace, args), await svc(workspace, [...args, '--json'])];
      expect({ args, code: json.code, stdout: json.stdout, stderr: json.stderr }).toEqual({
        args,
        code: plain.code,
        stdout: '',
        stderr: plain.stderr,
      });
      expect(plain.code).not.toBe(0);
    }
  }, 60_000);

  it('writes what a login prints', async () => {
    const known = await ProtectedServer.start();
    try {
      const login = new SvcProcess(workspace, ['login', known.remote.url, '--json']);
      expect(await known.sayYes(login)).toContain('You can close this page.');
      noteLine('login', (await login.ended).stdout);
      await note('logout', [known.remote.url]);
    } finally {
      known.close();
    }
  });

  it('has the shapes that stand here', () => {
    expect(Object.fromEntries(seen)).toEqual(shapes);
    expect(readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')).toContain(
      'Each command except `svc chat` and `svc serve` takes `--json`',
    );
  });
});
