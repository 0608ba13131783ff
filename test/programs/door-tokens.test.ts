import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc, SvcProcess } from '../support/svc-process.ts';
import { useCapsules } from '../support/capsule-folders.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

interface Kept {
  readonly version: number;
  readonly tokens: readonly { readonly name: string; readonly sha256: string }[];
}

function kept(home: string): Kept {
  return JSON.parse(readFileSync(join(home, '.svc', 'door-tokens.json'), 'utf8')) as Kept;
}

describe('svc token', () => {
  it('prints a token once, keeps its hash for this user alone, lists it and takes it away', async () => {
    const workspace = capsule({});
    const added = await svc(workspace, ['token', 'add', 'phone', '--scope', 'send,read', '--expires', '12h']);
    expect([added.code, added.stdout]).toEqual([0, expect.stringMatching(/^svc_door_[A-Za-z0-9_-]{43}\n$/)]);
    expect(added.stderr).toMatch(/^phone may read, send until .*; the token is not shown again:\n$/);
    const file = join(workspace.home, '.svc', 'door-tokens.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain(added.stdout.trim());
    const listed = await svc(workspace, ['token', 'ls']);
    expect(listed.stdout).toMatch(/^NAME {3}SCOPES {5}CAPSULE {2}EXPIRES\nphone {2}read,send {2}- {8}\d/);
    expect((await svc(workspace, ['token', 'rm', 'phone'])).stderr).toBe('removed phone\n');
    expect(kept(workspace.home).tokens).toEqual([]);
  });

  it('takes back a token that could not be printed', async () => {
    const workspace = capsule({});
    const command = `"${process.execPath}" "${program}" token add zz --scope read > /dev/full`;
    const env = { PATH: process.env['PATH'], HOME: workspace.home };
    const { status, stderr } = spawnSync('sh', ['-c', command], { cwd: workspace.folder, env, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^zz may read until .*\nerror\[E-IO-001\]: the token could not be printed, and was taken back: no space left on the device\nhint: .*\n$/,
    );
    expect(kept(workspace.home).tokens).toEqual([]);
  });

  it.each([
    [['add', 'a', '--scope', 'admin'], 'E-RUN-152', '`admin` is no scope'],
    [['add', 'a', '--scope', ''], 'E-RUN-152', '`` is no scope'],
    [['add', '\u001B[2Jx', '--scope', 'read'], 'E-RUN-152', '`\\u{1b}[2Jx` is no name of a token'],
    [['add', '../x', '--scope', 'read'], 'E-RUN-152', '`../x` is no name of a token'],
    [['add', 'a', '--scope', 'read', '--expires', '0d'], 'E-RUN-152', 'a token cannot hold for 0d'],
    [['add', 'a', '--scope', 'read', '--expires', '3651d'], 'E-RUN-152', 'a token cannot hold for 3651d'],
    [['add', 'a', '--scope', 'read', '--expires', 'soon'], 'E-RUN-090', 'must be an age'],
    [['add', 'a', '--scope', 'read', '--capsule', 'A b'], 'E-RUN-152', '`A b` is no name of a capsule'],
    [['rm', '\u202Ea'], 'E-RUN-153', 'there is no door token `\\u{202e}a`'],
  ])('refuses %j', async (args, code, message) => {
    const { code: exit, stdout, stderr } = await svc(capsule({}), ['token', ...args]);
    expect([exit, stdout]).toEqual([code === 'E-RUN-090' ? exit : 1, '']);
    expect(stderr).toContain(`error[${code}]: `);
    expect(stderr).toContain(message);
  });

  it('loses none of those that several programs add and remove at the same time', async () => {
    const workspace = capsule({});
    await svc(workspace, ['token', 'add', 'first', '--scope', 'read']);
    const names = Array.from({ length: 6 }, (_, at) => `t${at}`);
    const ends = await Promise.all([
      ...names.map((name) => svc(workspace, ['token', 'add', name, '--scope', 'read'])),
      svc(workspace, ['token', 'rm', 'first']),
    ]);
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(
      kept(workspace.home)
        .tokens.map(({ name }) => name)
        .toSorted(),
    ).toEqual(names);
  }, 60_000);

  it('leaves a whole file whenever it is killed', async () => {
    const workspace = capsule({});
    await svc(workspace, ['token', 'add', 'first', '--scope', 'read']);
    for (let round = 0; round < 8; round += 1) {
      const adding = new SvcProcess(workspace, ['token', 'add', `k${round}`, '--scope', 'read', '--json']);
      const guard = `.door-tokens.json.guard`;
      // Killed as soon as it holds the file, or has written it.
      while (adding.child.exitCode === null && !readdirSync(join(workspace.home, '.svc')).includes(guard)) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      adding.child.kill('SIGKILL');
      await adding.ended;
      const { version, tokens } = kept(workspace.home);
      expect([version, tokens[0]?.name]).toEqual([1, 'first']);
      if (readdirSync(join(workspace.home, '.svc')).includes(guard)) break;
    }
    // What was killed holds it no longer.
    const after = await svc(workspace, ['token', 'add', 'after', '--scope', 'read']);
    expect([after.code, kept(workspace.home).tokens.at(-1)?.name]).toEqual([0, 'after']);
  }, 120_000);
});

describe('a capsule that runs', () => {
  it('says in its trace and its journal who gave, answered, canceled and stopped, and holds no token', async () => {
    const workspace = scriptCapsule({
      manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]
`,
      script: script({ ...asks('Which colour?'), when: 'Ask' }, says('Blue.')),
    });
    const tokens: string[] = [];
    for (const [name, scopes] of [
      ['asker', 'read,send'],
      ['answerer', 'read,answer'],
      ['stopper', 'stop'],
    ] as const) {
      tokens.push((await svc(workspace, ['token', 'add', name, '--scope', scopes])).stdout.trim());
    }
    const [asker = '', answerer = '', stopper = ''] = tokens;
    const env = { SVC_LISTENER_TOKEN: 'the-token-of-the-operator' };
    const { process, line } = await startCapsule(workspace, ['--capture', 'content'], { env });
    const call = async (token: string, method: string, params: unknown = {}): Promise<Response> =>
      await fetch(`http://${line.url}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'svc-events': '1', authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const text = `Ask me, by ${asker}.`;
    const sent = await call(asker, 'message/send', { message: { messageId: 'm', role: 'user', parts: [{ text }] } });
    const { id } = ((await sent.json()) as { result: { id: string } }).result;
    const state = async (): Promise<unknown> =>
      ((await (await call(asker, 'tasks/get', { id })).json()) as { result: { status: { state: string } } }).result
        .status.state;
    await expect.poll(state, { timeout: 20_000 }).toBe('input-required');
    expect((await call(asker, 'tasks/answer', { id, wait: 'q1', text: 'no' })).status).toBe(403);
    expect((await call(answerer, 'tasks/answer', { id, wait: 'q1', text: 'blue' })).status).toBe(200);
    expect((await call(stopper, 'session/stop')).status).toBe(200);
    expect((await call(`${stopper}x`, 'session/stop')).status).toBe(401);
    process.child.kill('SIGTERM');
    await process.ended;
    const folder = join(workspace.folder, '.svc', 'sessions', line.session_id);
    const lines = readFileSync(join(folder, 'trace.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    const by = (type: string): unknown => lines.find(({ event_type: each }) => each === type)?.['principal'];
    expect([by('task_received'), by('task_input_required'), by('session_stop')]).toEqual([
      'token:asker',
      'token:answerer',
      'token:stopper',
    ]);
    const journal = readFileSync(join(folder, 'journal.jsonl'), 'utf8');
    for (const name of ['asker', 'answerer', 'stopper']) expect(journal).toContain(`"principal":"token:${name}"`);
    const written = [process.stdout, process.stderr, ...lines.map((each) => JSON.stringify(each)), journal].join('');
    for (const token of tokens) expect(written).not.toContain(token);
    expect(written).toContain('Ask me, by [secret].');
    workspace.remove();
  }, 60_000);

  it('does not start for other machines over a file that it cannot trust', async () => {
    const workspace = capsule({});
    await svc(workspace, ['token', 'add', 'a', '--scope', 'read']);
    const { chmodSync } = await import('node:fs');
    chmodSync(join(workspace.home, '.svc', 'door-tokens.json'), 0o644);
    const { code, stderr } = await svc(workspace, ['run', '--bind', '0.0.0.0', '--task', 'x']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('error[E-RUN-150]: ~/.svc/door-tokens.json can be read'),
    ]);
  });
});
