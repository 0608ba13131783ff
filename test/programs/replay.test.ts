import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { snapshot } from '../support/folder-snapshot.ts';
import { forgedJournal } from '../support/forged-journal.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { StreamedCapsule } from '../support/streamed-capsule.ts';
import { scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { message, svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

const capsules: StreamedCapsule[] = [];
const workspaces: Workspace[] = [];

afterEach(async () => {
  for (const capsule of capsules.splice(0)) await capsule.dispose();
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const mebibyte = 1024 * 1024;
const patience = { timeout: 20_000 };
const recordsAll = 'trace: { capture: content }\n';
const queue = 'lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 1 }\n';

/** A capsule that keeps its journal, started. */
async function started(parts: ScriptCapsule, env: Readonly<Record<string, string>> = {}): Promise<StreamedCapsule> {
  const capsule = await StreamedCapsule.start(workspaceOf(parts), env);
  capsules.push(capsule);
  return capsule;
}

function workspaceOf(parts: ScriptCapsule): Workspace {
  const workspace = scriptCapsule({ ...parts, manifest: `${recordsAll}${parts.manifest ?? ''}` });
  workspaces.push(workspace);
  return workspace;
}

/** Runs its one task to the end. */
async function recorded(parts: ScriptCapsule, ...args: readonly string[]): Promise<Workspace> {
  const workspace = workspaceOf(parts);
  await svc(workspace, ['run', '--task', 'Go.', ...args]);
  return workspace;
}

function sessionFolder({ folder }: Workspace): string {
  const sessions = join(folder, '.svc', 'sessions');
  return join(sessions, readdirSync(sessions)[0] ?? '');
}

function journalOf(workspace: Workspace): string {
  return join(sessionFolder(workspace), 'journal.jsonl');
}

async function replay(workspace: Workspace): Promise<SvcEnd> {
  return await svc(workspace, ['run', '--replay', '--json']);
}

function verdict({ stdout }: SvcEnd): unknown {
  return JSON.parse(stdout);
}

function forge(workspace: Workspace, change: (text: string) => string): void {
  writeFileSync(journalOf(workspace), forgedJournal(readFileSync(journalOf(workspace), 'utf8'), change));
}

const shell = 'capabilities: { shell: { allow: [sh] } }\n';

describe('a recorded session', () => {
  it('runs again in full: plans, commands that outlast their call, questions, messages, cancels', async () => {
    const steps = ['a', 'b', 'c', 'd'].map((id) => ({
      id,
      shell: 'sh',
      input: `sleep 0.0${id.charCodeAt(0) % 7}; echo ${id}`,
    }));
    // Longer than a call waits for it.
    const late = 'until [ -e go ]; do sleep 0.05; done; echo late';
    const plan = calls([['plan_1', 'submit-plan', { id: 'p', steps }]]);
    const asks = calls([['ask_1', 'svc-tool-request-input', { prompt: 'Which colour?' }]]);
    const capsule = await started({
      manifest: `${queue}artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\ncapabilities: { shell: { allow: [sh] }, plan: { submit: true } }\n`,
      script: script(plan, asks, runs(late), says('Done.')),
    });
    const watch = await capsule.watch();
    const first = await capsule.submit('Paint.', 'ctx-of-mine');
    const { id } = (await first.status('input-required', 'Which colour?')).data;
    await capsule.send('blue');
    await first.untilClosed();
    writeFileSync(join(capsule.line.workdir, 'go'), '');
    // The task that reports the end of the command begins as the first one.
    const second = await watch.until(({ text, data }) => text.includes('"input-required"') && data['id'] !== id);
    await capsule.rpc('tasks/cancel', { id: second.data['id'] });
    const last = await capsule.send('Wait.');
    await capsule.rpc('tasks/cancel', { id: last.id });
    expect((await capsule.terminate()).code).not.toBeNull();
    const end = await replay(capsule.workspace);
    expect({ code: end.code, verdict: verdict(end) }).toEqual({
      code: 0,
      verdict: { session: capsule.line.session_id, steps: expect.any(Number), outcome: 'same' },
    });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'runs again where there is no network, and writes nothing (needs root, to take the network away)',
    async () => {
      const workspace = await recorded({ manifest: shell, script: script(runs('echo hi > made.txt'), says('Done.')) });
      rmSync(join(workspace.folder, 'workdir'), { recursive: true });
      const before = snapshot(workspace);
      const { status, stdout } = spawnSync('/usr/bin/unshare', ['-n', process.execPath, program, 'run', '--replay'], {
        cwd: workspace.folder,
        env: { PATH: '/nowhere', HOME: workspace.home },
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: `replayed 3 steps of ${sessionFolder(workspace).split('/').at(-1)}: the same except for ids and times\n`,
      });
      expect(snapshot(workspace)).toEqual(before);
    },
  );

  it('differs where the session does something else, and names the place and what differs', async () => {
    const workspace = await recorded({ manifest: shell, script: script(runs('echo 1'), says('Done.')) });
    forge(workspace, (text) => (text.startsWith('{"role":"tool"') ? text.replace('\\n1\\n', '\\n2\\n') : text));
    const { code, stderr } = await svc(workspace, ['run', '--replay']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-RUN-079\]: the replay differs from the recording: tsk_[0-9a-f]{32}\/1\/m2 \(model\) is asked with other input at \/messages\/2\/content\/0\/text: recorded "<untrusted/m,
    );
    expect(verdict(await replay(workspace))).toMatchObject({
      outcome: 'parted',
      port: 'model',
      path: '/messages/2/content/0/text',
    });
  });

  it('differs where the trace says something else than what happens again', async () => {
    const workspace = await recorded({ manifest: shell, script: script(runs('exit 3'), says('Done.')) });
    const trace = join(sessionFolder(workspace), 'trace.jsonl');
    writeFileSync(trace, readFileSync(trace, 'utf8').replace('"exit_code":3', '"exit_code":0'));
    const { code, stderr } = await svc(workspace, ['run', '--replay']);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('line 5 of the trace at /exit_code: recorded 0, now 3'),
    });
  });

  it('compares what stands behind a line of its trace that is too long to be read, and says so', async () => {
    const workspace = await recorded({ manifest: shell, script: script(runs('echo hi'), says('Done.')) });
    const trace = join(sessionFolder(workspace), 'trace.jsonl');
    const long = readFileSync(trace, 'utf8').replace(
      '"command_name":"sh"',
      (key) => `"x":"${'x'.repeat(17 * mebibyte)}",${key}`,
    );
    writeFileSync(trace, long);
    const session = sessionFolder(workspace).split('/').at(-1);
    const warning =
      `warning[W-RUN-173]: the trace of ${session} has a line that cannot be read, and only its event_type is compared\n` +
      'hint: svc reads no line of more than 16 MiB or 300,000 values, and none behind 100,000 short ones: look into its trace.jsonl\n';
    expect(await replay(workspace)).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ session, steps: 3, outcome: 'same', unread_lines: 1 })}\n`,
      stderr: expect.stringContaining(warning),
    });
    writeFileSync(trace, long.replace('"state":"completed"', '"state":"failed"'));
    const { code, stderr } = await replay(workspace);
    expect(code).toBe(1);
    expect(stderr).toContain('at /state: recorded "failed", now "completed"');
    expect(stderr).toContain(warning);
  });

  it('holds texts of megabytes in their place among what comes at the same time, also at its end', async () => {
    const capsule = await started({ manifest: queue, script: script(says('One.'), says('Two.'), says('Three.')) });
    for (const text of ['ü'.repeat(3.9 * mebibyte), 'short', 'ü'.repeat(3.8 * mebibyte)]) {
      const { id } = await capsule.send(text);
      await capsule.rpc('tasks/cancel', { id });
    }
    expect((await capsule.terminate()).code).not.toBeNull();
    expect(readFileSync(journalOf(capsule.workspace), 'utf8')).toMatch(/"k":"close"[^\n]*\n$/);
    expect(verdict(await replay(capsule.workspace))).toMatchObject({ outcome: 'same' });
  });

  it('runs again as far as it is there after a kill', async () => {
    const capsule = await started({ manifest: `${queue}${shell}`, script: script(runs('sleep 60')) });
    await capsule.send('Wait.');
    await expect
      .poll(
        () => existsSync(journalOf(capsule.workspace)) && readFileSync(journalOf(capsule.workspace), 'utf8'),
        patience,
      )
      .toContain('"port":"shell"');
    capsule.process.child.kill('SIGKILL');
    await capsule.process.ended;
    const end = await svc(capsule.workspace, ['run', '--replay']);
    expect(end).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^replayed 2 steps of ses_[0-9a-f]{32}: the same so far; the recording ends there, within tsk_[0-9a-f]{32}\/1\/m1\/t1: /,
      ),
    });
  });

  it.each([
    ['settings', (text: string) => (text.startsWith('{"inference"') ? '{}' : text)],
    ['settings', (text: string) => text.replace(/"conversations":"[^"]*"/, '"conversations":"constructor"')],
    ['settings', (text: string) => (text.startsWith('{"inference"') ? '{' : text)],
    ['tools', (text: string) => (text.startsWith('[{"name"') ? '[null]' : text)],
  ])('fails where it began with %s of no session', async (_what, change) => {
    const workspace = await recorded({ manifest: shell, script: script(says('Done.')) });
    forge(workspace, change);
    const { code, stderr } = await svc(workspace, ['run', '--replay']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-RUN-07[89]\]: .*\nhint: .*\n$/m);
  });

  it('fails where its journal is damaged, keeps hashes alone, or is not there', async () => {
    const damaged = await recorded({ manifest: shell, script: script(runs('echo 1'), says('Done.')) });
    writeFileSync(journalOf(damaged), readFileSync(journalOf(damaged), 'utf8').replace('echo 1', 'echo 2'));
    expect(await svc(damaged, ['run', '--replay'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('error[E-RUN-073]'),
    });
    const hashes = await recorded({}, '--capture', 'meta');
    expect(await svc(hashes, ['run', '--replay'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-RUN-078]'),
    });
    const nothing = await recorded({}, '--capture', 'none');
    expect(readdirSync(sessionFolder(nothing))).not.toContain('journal.jsonl');
    expect(await svc(nothing, ['run', '--replay'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-RUN-071]'),
    });
  });
});

it('a capsule keeps the credentials of a session out of its journal, wherever they come by', async () => {
  const token = 'listener-token-canary-0123456789';
  const capsule = await started(
    { manifest: `${queue}${shell}`, script: script(runs(`echo ${token}`), says(`It is ${token}.`)) },
    { SVC_LISTENER_TOKEN: token },
  );
  const asked = await fetch(`http://${capsule.line.url}/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: message(`Say ${token}`),
    }),
  });
  expect(asked.status).toBe(200);
  await expect.poll(() => readFileSync(journalOf(capsule.workspace), 'utf8'), patience).toContain('"k":"task-end"');
  await capsule.terminate();
  const journal = readFileSync(journalOf(capsule.workspace), 'utf8');
  expect(journal).not.toContain(token);
  expect(journal).toContain('[secret]');
  expect(verdict(await replay(capsule.workspace))).toEqual({
    session: capsule.line.session_id,
    steps: 3,
    outcome: 'same',
  });
});
