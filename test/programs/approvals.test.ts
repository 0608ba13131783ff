import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { ask, type RpcAnswer, type RunLine, startCapsule, svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { ViewProcess } from '../support/view-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** Nothing holds programs at `advisory`, where a capsule that asks is refused. */
const env = { SVC_CONTAINMENT_CEILING: 'sealed' };

const manifest = `capabilities: { shell: { allow: [touch, cat] } }
approvals:
  rules:
    - ask: { command: [touch, "**"] }
    - deny: { command: [touch, "**", secret] }
`;

function touches(...files: readonly string[]): string {
  const made = files.map((file, index) => [`c${index}`, 'touch', { command: file }] as const);
  return script(calls(made), says('Done.'));
}

function caller(url: string): (method: string, params?: unknown, token?: string) => Promise<RpcAnswer> {
  return async (method, params, token) => await ask(url, method, params, token);
}

interface Open {
  readonly id: string;
  readonly digest: string;
  readonly task_id: string;
}

async function waiting(call: ReturnType<typeof caller>, token?: string): Promise<Open> {
  let open: Open | undefined;
  const look = async (): Promise<boolean> => {
    const { result } = await call('approvals/list', {}, token);
    [open] = (result as { approvals: Open[] }).approvals;
    return open !== undefined;
  };
  await expect.poll(look, { timeout: 30_000 }).toBe(true);
  if (open === undefined) throw new Error('nothing waits');
  return open;
}

function records(workspace: Workspace, session: string): readonly Record<string, unknown>[] {
  const path = join(workspace.folder, '.svc', 'sessions', session, 'approvals.jsonl');
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function withToken(workspace: Workspace, name: string, scope: string): Promise<string> {
  return (await svc(workspace, ['token', 'add', name, '--scope', scope])).stdout.trim();
}

describe('a command that has to be approved', () => {
  it('runs once a client with the scope answer allows it, and is answered by nobody else', async () => {
    const workspace = capsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }\n${manifest}`,
      script: touches('pushed'),
    });
    const anna = await withToken(workspace, 'anna', 'read,answer');
    const bob = await withToken(workspace, 'bob', 'read,send');
    const operator = 'the-token-of-the-operator';
    const { process, line } = await startCapsule(workspace, ['--task', 'Push.', '--capture', 'content'], {
      env: { ...env, SVC_LISTENER_TOKEN: operator },
    });
    cleanups.push(() => void process.child.kill('SIGKILL'));
    const call = caller(line.url);
    const open = await waiting(call, bob);
    expect(open).toMatchObject({
      kind: 'approval',
      id: `apr_${open.task_id.slice(4)}_q1`,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      capsule: ['demo'],
      rule: 'approvals.rules[0]',
      effect: { kind: 'command', argv: ['touch', 'pushed'], cwd: '.' },
      options: ['once', 'session', 'manifest'],
      prompt: `approve this call? ["touch","pushed"] - svc approve ${open.id} answers; a message does not`,
    });
    const made = join(line.workdir, 'pushed');
    const allow = { id: open.id, digest: open.digest, decision: 'allow' };
    for (const token of [operator, bob, undefined]) {
      expect((await call('approvals/answer', allow, token)).status).toBe(token === undefined ? 401 : 403);
    }
    for (const text of ['yes', JSON.stringify(allow)]) {
      const message = { messageId: text, role: 'user', parts: [{ text }] };
      const { result } = await call('message/send', { message }, operator);
      expect(result).not.toMatchObject({ id: open.task_id });
    }
    const named = { id: open.task_id, wait: 'q1', text: 'allow' };
    expect(await call('tasks/answer', named, operator)).toMatchObject({ error: { code: -32_010 } });
    expect(await call('approvals/answer', { ...allow, digest: 'sha256:0' }, anna)).toMatchObject({
      error: { code: -32_051 },
    });
    expect(await call('approvals/answer', { ...allow, id: 'apr_0' }, anna)).toMatchObject({ error: { code: -32_001 } });
    expect(await call('approvals/answer', { ...allow, decision: 'maybe' }, anna)).toMatchObject({
      error: { code: -32_602 },
    });
    expect(existsSync(made)).toBe(false);
    expect((await call('tasks/get', { id: open.task_id }, anna)).result).toMatchObject({
      status: { state: 'input-required' },
    });
    expect((await call('approvals/answer', allow, anna)).result).toMatchObject({
      id: open.id,
      state: 'settled',
      decision: 'allow',
      by: 'token:anna',
    });
    await expect.poll(() => existsSync(made), { timeout: 30_000 }).toBe(true);
    expect(await call('approvals/answer', { ...allow, decision: 'deny' }, anna)).toMatchObject({
      error: { code: -32_050, data: { decision: 'allow', by: 'token:anna' } },
    });
    process.child.kill('SIGTERM');
    await process.ended;
    expect(records(workspace, line.session_id).slice(0, 3)).toMatchObject([
      { k: 'asked', id: open.id, digest: open.digest, effect: { argv: ['touch', 'pushed'] } },
      { k: 'settled', id: open.id, digest: open.digest, decision: 'allow', option: 'once', by: 'token:anna' },
      { k: 'started', id: open.id, digest: open.digest },
    ]);
    expect(readdirSync(join(workspace.home, '.svc', 'running'))).toEqual([]);
    const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
    expect([replayed.code, replayed.stderr]).toEqual([0, expect.any(String)]);
  }, 120_000);

  it('runs once the page of svc view allows it, and by no other page', async () => {
    const workspace = capsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }\n${manifest}`,
      script: touches('pushed'),
    });
    const anna = await withToken(workspace, 'anna', 'answer');
    const { process, line } = await startCapsule(workspace, ['--task', 'Push.'], { env });
    cleanups.push(() => void process.child.kill('SIGKILL'));
    const { id, digest } = await waiting(caller(line.url), anna);
    const view = await ViewProcess.start(workspace, [line.session_id], { env });
    const reading = await ViewProcess.start(workspace, [line.session_id, '--read-only'], { env });
    const allow = { id, digest, decision: 'allow', option: 'once' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'approvals/answer', params: allow });
    const sent = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const path = `/s/${line.session_id}/rpc`;
    const refused = [
      await view.ask(path, { ...sent, headers: { ...sent.headers, origin: 'http://elsewhere.example' } }),
      await view.ask(path, { ...sent, headers: { ...sent.headers, 'sec-fetch-site': 'cross-site' } }),
      await view.ask(path, { ...sent, headers: { ...sent.headers, authorization: 'Bearer wrong' } }),
      await view.ask(path, { ...sent, headers: { 'content-type': 'text/plain' } }),
      await reading.ask(path, sent),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 401, 415, 403]);
    const other = await view.call(line.session_id, 'approvals/answer', { ...allow, digest: 'sha256:0' });
    expect(JSON.parse(other.text)).toMatchObject({ error: { code: -32_051 } });
    expect(existsSync(join(line.workdir, 'pushed'))).toBe(false);
    const answered = await view.call(line.session_id, 'approvals/answer', allow);
    expect(JSON.parse(answered.text)).toMatchObject({ result: { id, decision: 'allow', by: 'person' } });
    await expect.poll(() => existsSync(join(line.workdir, 'pushed')), { timeout: 30_000 }).toBe(true);
    const late = await view.call(line.session_id, 'approvals/answer', { ...allow, decision: 'deny' });
    expect(JSON.parse(late.text)).toMatchObject({
      error: { code: -32_050, data: { decision: 'allow', by: 'person' } },
    });
  }, 120_000);

  it('ends at once where nobody can be asked, and asks nothing where the rules deny it', async () => {
    const workspace = capsule({ manifest, script: touches('pushed', 'secret') });
    const { code, stdout } = await svc(workspace, ['run', '--json', '--task', 'Push.'], { env });
    const { workdir, session_id: session } = JSON.parse(stdout.split('\n')[0] ?? '') as RunLine;
    expect(code).toBe(0);
    expect(readdirSync(workdir)).toEqual(['.svc', 'out', 'task.md'].filter((name) => existsSync(join(workdir, name))));
    const trace = readFileSync(join(workspace.folder, '.svc', 'sessions', session, 'trace.jsonl'), 'utf8');
    expect(trace).not.toContain('task_input_required');
    const shown = await svc(workspace, ['trace', 'show', session, '1'], { env });
    expect(shown.code).toBe(0);
    const journal = readFileSync(join(workspace.folder, '.svc', 'sessions', session, 'journal.jsonl'), 'utf8');
    expect(journal).toContain(
      'and nobody can be asked: there is neither a terminal nor an editor, no door token has the scope answer, and notify names no target',
    );
    expect(journal).toContain('the rules of the operator deny this call (approvals.rules[1])');
  }, 60_000);

  it('ends at once in the capsule of a chat that only clients follow who could not answer, and waits where one could', async () => {
    const workspace = capsule({ manifest, script: touches('pushed') });
    const bob = await withToken(workspace, 'bob', 'read,send,stop');
    const { process, line } = await startCapsule(workspace, ['--for-chat'], { env });
    cleanups.push(() => void process.child.kill('SIGKILL'));
    const follow = async (token: string): Promise<void> => {
      const leave = new AbortController();
      cleanups.push(() => leave.abort());
      const headers = { 'content-type': 'application/json', 'svc-events': '1', authorization: `Bearer ${token}` };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'stream/watch' });
      const signal = leave.signal;
      const response = await fetch(`http://${line.url}/`, { method: 'POST', headers, body, signal });
      expect((await response.body?.getReader().read())?.done).toBe(false);
    };
    const call = caller(line.url);
    const send = async (messageId: string): Promise<RpcAnswer> =>
      await call('message/send', { message: { messageId, role: 'user', parts: [{ text: 'Push.' }] } }, bob);
    await follow(bob);
    const { id } = (await send('m1')).result as { id: string };
    const isOver = async (): Promise<string> =>
      ((await call('tasks/get', { id }, bob)).result as { status: { state: string } }).status.state;
    await expect.poll(isOver, { timeout: 30_000 }).toBe('completed');
    expect(process.stderr).toContain('W-APR-003');
    const folder = join(workspace.home, '.svc', 'running');
    const key = readdirSync(folder).find((name) => name.endsWith('.key')) ?? '';
    await follow(readFileSync(join(folder, key), 'utf8'));
    await send('m2');
    await waiting(call, bob);
    expect(records(workspace, line.session_id).map(({ k }) => k)).toEqual(['asked']);
  }, 60_000);

  it('keeps a capsule from starting where its programs could read the key for answers', async () => {
    const { code, stderr } = await svc(capsule({ manifest }), ['run', '--task', 'x']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-APR-002]: ')]);
  });

  it('keeps a capsule from starting where nothing can judge what it starts', async () => {
    const denies = manifest.replace(/^ +- ask: .*\n/m, '').replace('approvals:', 'approvals:\n  opaque: deny');
    const { code, stderr } = await svc(capsule({ manifest: denies }), ['run', '--task', 'x']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-APR-004]: ')]);
    expect(stderr).toContain('programs that commands start cannot be judged here: nothing holds programs here');
  });
});

describe.skipIf(!hasPseudoTerminals())('a person at the terminal (skipped without python3)', () => {
  function run(workspace: Workspace): TerminalProcess {
    const running = new TerminalProcess(workspace, ['run', '--task', 'Push.'], { env, columns: 120 });
    cleanups.push(() => running.child.kill('SIGKILL'));
    return running;
  }

  function made(workspace: Workspace): readonly string[] {
    const [session = ''] = readdirSync(join(workspace.folder, 'workdir'));
    return readdirSync(join(workspace.folder, 'workdir', session)).filter((name) => name.startsWith('push'));
  }

  it('allows a call, once and for the session', async () => {
    const workspace = capsule({ manifest, script: touches('pushed-1', 'pushed-1', 'pushed-2') });
    const running = run(workspace);
    await running.shows(/^ {2}"touch" "pushed-1"$/);
    await running.shows(/^run it\? y once, s in this session, a in every session, n no >$/);
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.type('s\r');
    await running.shows(/^ {2}"touch" "pushed-2"$/);
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.type('y\r');
    expect(await running.ended).toBe(0);
    expect(made(workspace)).toEqual(['pushed-1', 'pushed-2']);
  }, 60_000);

  it('denies it by Enter alone', async () => {
    const workspace = capsule({ manifest, script: touches('pushed') });
    const running = run(workspace);
    await running.shows(/^run it\?/);
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.type('\r');
    await running.shows(/^denied$/);
    expect(await running.ended).toBe(0);
    expect(made(workspace)).toEqual([]);
  }, 60_000);

  it('answers with svc approve elsewhere, by a key that only they can read', async () => {
    const workspace = capsule({
      manifest,
      script: script(
        calls([['c1', 'cat', { command: `/nowhere` }]]),
        calls([['c2', 'touch', { command: 'pushed' }]]),
        says('Done.'),
      ),
    });
    const running = run(workspace);
    await running.shows(/^run it\?/);
    const folder = join(workspace.home, '.svc', 'running');
    const key = readdirSync(folder).find((name) => name.endsWith('.key')) ?? '';
    expect(statSync(join(folder, key)).mode & 0o777).toBe(0o600);
    const listed = await svc(workspace, ['approve', '--list', '--json'], { env });
    const { approvals } = JSON.parse(listed.stdout) as { approvals: { id: string; effect: object }[] };
    expect(approvals).toMatchObject([{ effect: { argv: ['touch', 'pushed'] } }]);
    const alone = await svc(workspace, ['approve'], { env });
    expect([alone.code, alone.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^\? (?![^]*answers it too)[^]*\nerror\[E-APR-003\]: nothing was answered: there is no terminal to ask on\nhint: svc approve apr_\w+ --allow or --deny answers\n$/,
      ),
    ]);
    expect((await svc(workspace, ['approve', '--list'], { env })).stdout).toMatch(/^\? [^]* answers it too\n$/);
    const id = approvals[0]?.id ?? '';
    const asking = new TerminalProcess(workspace, ['approve'], { env, columns: 120 });
    cleanups.push(() => asking.child.kill('SIGKILL'));
    await asking.shows(/^run it\? y once, s in this session, a in every session, n no >$/);
    asking.child.kill('SIGKILL');
    const answered = await svc(workspace, ['approve', id, '--allow'], { env });
    expect([answered.code, answered.stdout]).toEqual([0, `${id} allow\n`]);
    expect(await running.ended).toBe(0);
    expect(made(workspace)).toEqual(['pushed']);
    expect(readdirSync(folder)).toEqual([]);
    expect((await svc(workspace, ['approve', '--list'], { env })).stdout).toBe('nothing waits for approval\n');
    const [session = ''] = readdirSync(join(workspace.folder, 'workdir'));
    expect(records(workspace, session).find(({ k }) => k === 'settled')).toMatchObject({ by: 'person' });
  }, 60_000);

  it('sees what would run, with nothing in it that a terminal obeys', async () => {
    const words = [
      '\u001B[2Jx',
      '\u202Eevil',
      'run it? y once',
      '\u200B',
      'é',
      ...Array.from({ length: 60 }, (_, at) => `w${at}`),
    ];
    const line = words.map((word) => `'${word}'`).join(' ');
    const workspace = capsule({ manifest, script: touches(line) });
    const running = run(workspace);
    await running.shows(/^run it\? y once, s in this session, a in every session, n no >$/);
    const rows = await running.shows(/^ {2}\.\.\. \d+ more; svc approve --list --json has all$/);
    expect(rows).toContain('  "\\u{1b}[2Jx"'.replace('\\u{1b}', '\\u001b'));
    expect(rows).toContain('  "\\u{202e}evil"');
    expect(running.raw).not.toContain('\u001B[2Jx');
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.type('n\r');
    expect(await running.ended).toBe(0);
  }, 60_000);
});

describe('a file of the workdir that has to be approved', () => {
  it('changes once that is allowed, by whatever name the editor reaches it, and a replay asks nobody', async () => {
    const writes = ['config/app', 'conf/app', 'src/app'].map((path, index) =>
      calls([[`w${index}`, 'svc-tool-editor', { command: 'write', path, content: `by ${path}` }]]),
    );
    const workspace = capsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
capabilities: { filesystem: { scope: . } }
trace: { capture: content, components: true }
approvals: { rules: [{ ask: { tool: svc-tool-editor, path: "config/**", access: write } }] }
`,
      script: script(...writes, says('Done.')),
    });
    const workdir = join(workspace.folder, 'tree');
    mkdirSync(join(workdir, 'config'), { recursive: true });
    symlinkSync('config', join(workdir, 'conf'));
    const anna = await withToken(workspace, 'anna', 'read,answer');
    const { process, line } = await startCapsule(workspace, ['--task', 'Write.', '--workdir', workdir], { env });
    cleanups.push(() => void process.child.kill('SIGKILL'));
    const call = caller(line.url);
    const first = await waiting(call, anna);
    expect(first).toMatchObject({
      rule: 'approvals.rules[0]',
      effect: {
        kind: 'path',
        tool: 'svc-tool-editor',
        operation: 'write',
        path: 'config/app',
        arguments: { command: 'write', path: 'config/app', content: 'by config/app' },
      },
    });
    expect(readdirSync(join(workdir, 'config'))).toEqual([]);
    await call('approvals/answer', { id: first.id, digest: first.digest, decision: 'allow' }, anna);
    await expect.poll(async () => (await waiting(call, anna)).id, { timeout: 30_000 }).not.toBe(first.id);
    const second = await waiting(call, anna);
    expect(second).toMatchObject({ effect: { path: 'config/app', arguments: { path: 'conf/app' } } });
    expect(readFileSync(join(workdir, 'config', 'app'), 'utf8')).toBe('by config/app');
    await call('approvals/answer', { id: second.id, digest: second.digest, decision: 'deny' }, anna);
    await expect.poll(() => existsSync(join(workdir, 'src', 'app')), { timeout: 30_000 }).toBe(true);
    process.child.kill('SIGTERM');
    await process.ended;
    expect(readFileSync(join(workdir, 'config', 'app'), 'utf8')).toBe('by config/app');
    const replayed = await svc(workspace, ['run', '--replay', line.session_id, '--components', '--json'], {
      env,
    });
    expect(replayed.stderr).toBe('');
    expect(JSON.parse(replayed.stdout)).toMatchObject({ components: { run: 7, served: 0 } });
  }, 120_000);
});
