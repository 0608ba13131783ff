import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { isRunning } from '../support/is-gone.ts';

const capsule = useCapsules();
const start = useStreamedCapsules();

const shellOnly = 'capabilities: { shell: { allow: [sh] } }\n';
const staysUp = `${shellOnly}lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: 1 }\n`;

/** Goes on until a file is there, and ends at once where it is there already. */
const untilGo = 'until [ -e go ]; do sleep 0.02; done; echo went; exit 7';

/** Runs on with a child of its own; the ids of both are in files. */
const forEver = 'sleep 1000 & echo $! > child; echo $$ > self; wait';
const untilItRuns = 'until [ -s self ]; do sleep 0.02; done';

describe('a command that runs longer than lifecycle.shell_grace_secs', () => {
  it('goes on after its call, and its end is a task of the same context [D1-FRAME-30]', async () => {
    const running = await start.script({ manifest: staysUp, script: runsCommand(untilGo) });
    const stream = await running.watch();
    const { id, contextId } = await running.send('Wait.');
    const first = await stream.until(({ event }) => event === 'artifact');
    expect(first.data).toMatchObject({
      id,
      artifact: { tool_name: 'sh', is_error: false, exit_code: null, truncated: false },
    });
    const { content } = first.data['artifact'] as { content: string };
    expect(content).toMatch(
      /^<untrusted-content source=tool:sh>\ncommand: until .*\nstill running after 1 s: it goes on in the background as wrk_[0-9a-f]{32}; its end arrives as a task of its own, unless the session ends before\nstdout so far: \(empty\)\nstderr so far: \(empty\)\n\[its end brings the first 16 KiB of each output; what a command writes into a file can be read while it runs\]\n<\/untrusted-content>$/,
    );
    await stream.until(({ data }) => data['final'] === true && data['id'] === id);
    writeFileSync(join(running.line.workdir, 'go'), '');
    await stream.until(({ event, data }) => event === 'status' && data['final'] === true && data['id'] !== id);
    const work = /wrk_[0-9a-f]{32}/.exec(content)?.[0];
    expect(running.trace.filter(({ event_type: type }) => type === 'task_received')[1]).toMatchObject({
      context_id: contextId,
      origin: 'completion',
      trust: 'untrusted',
      lane: 'background',
      text: `A command that went on in the background, ${work}, has ended.\ncommand: ${untilGo}\nexit code: 7\nstdout:\nwent\nstderr: (empty)`,
    });
    const [moved, ended] = running.trace.filter(({ event_type: type }) => type === 'background_command');
    expect(moved).toMatchObject({ task_id: id, work_id: work, command_name: 'sh', state: 'moved', exit_code: null });
    expect(ended).toMatchObject({ task_id: id, work_id: work, command_name: 'sh', state: 'ended', exit_code: 7 });
    expect(running.trace.find(({ event_type: type }) => type === 'shell')).toMatchObject({
      exit_code: null,
      is_error: false,
    });
    const logs = join(running.workspace.folder, '.svc/sessions', running.line.session_id, 'logs');
    expect(readFileSync(join(logs, '1-sh-stdout.log'), 'utf8')).toBe('went\n');
  });

  it('outlives session/stop, and the answer says so [D1-CARD-20]', async () => {
    const running = await start.script({ manifest: staysUp, script: runsCommand(untilGo) });
    const stream = await running.watch();
    const { id } = await running.send('Wait.');
    await stream.until(({ data }) => data['final'] === true && data['id'] === id);
    expect(await running.rpc('session/stop', {})).toEqual({
      session_id: running.line.session_id,
      canceled: [],
      residue: [{ kind: 'command', id: expect.stringMatching(/^wrk_[0-9a-f]{32}$/), command: untilGo }],
    });
    writeFileSync(join(running.line.workdir, 'go'), '');
    await stream.until(({ event, data }) => event === 'status' && data['final'] === true && data['id'] !== id);
    expect(await running.rpc('session/stop', {})).toMatchObject({ residue: [] });
  });

  it('outlives a cancel of its task', async () => {
    const script = runsCommand(untilGo, 'until [ -e never ]; do sleep 0.02; done');
    const running = await start.script({ manifest: staysUp, script });
    const stream = await running.watch();
    const { id } = await running.send('Wait.');
    await stream.until(({ event }) => event === 'artifact');
    await running.rpc('tasks/cancel', { id });
    expect(await running.rpc('session/stop', {})).toMatchObject({ residue: [{ kind: 'command', command: untilGo }] });
  });

  it('ends with the session, and so does everything it started', async () => {
    const running = await start.script({ manifest: staysUp, script: runsCommand(forEver, untilItRuns) });
    const stream = await running.watch();
    await running.send('Wait.');
    await stream.until(({ data }) => data['final'] === true);
    const pids = ['self', 'child'].map((name) => readFileSync(join(running.line.workdir, name), 'utf8').trim());
    expect(pids.map(isRunning)).toEqual([true, true]);
    expect((await running.terminate()).code).toBe(0);
    // What it started is killed with it, and gone soon.
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    expect(running.trace.slice(-2)).toMatchObject([
      { event_type: 'background_command', state: 'stopped', exit_code: null },
      { event_type: 'session_end', status: 'ok' },
    ]);
  });

  it('ends with the only task of a session that takes no other', async () => {
    const workspace = capsule({
      manifest: `${shellOnly}lifecycle: { shell_grace_secs: 1 }\n`,
      script: runsCommand(forEver, untilItRuns),
      files: taskFile,
    });
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
    const session = onlySession(workspace);
    const workdir = join(workspace.folder, 'workdir', session);
    const pids = ['self', 'child'].map((name) => readFileSync(join(workdir, name), 'utf8').trim());
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    const trace = readTrace(tracePath(workspace, session));
    expect(trace.filter(({ event_type: type }) => type === 'background_command')).toMatchObject([
      { state: 'moved' },
      { state: 'stopped', exit_code: null },
    ]);
    expect(trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'ok', tasks: 1 });
  });
});
