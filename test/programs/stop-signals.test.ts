import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { isRunning } from '../support/is-gone.ts';
import { readTrace } from '../support/read-trace.ts';
import { tracePath } from '../support/capsule-folders.ts';
import { runsCommand, scriptCapsule } from '../support/script-capsule.ts';
import { startCapsule, svc, SvcProcess } from '../support/svc-process.ts';

const manifest = 'capabilities: { shell: { allow: [sh] } }\n';

/** A capsule whose command writes its pid and then stays; resolves once it runs. */
async function busyCapsule() {
  const workspace = scriptCapsule({
    manifest,
    script: runsCommand('true', 'trap "" TERM INT HUP; echo $$ > pid; while :; do sleep 1; done'),
    files: { 'task.md': 'Stay.\n' },
  });
  const { process, line } = await startCapsule(workspace);
  // A failed test leaves nothing running either.
  onTestFinished(() => void process.child.kill('SIGKILL'));
  const watch = new SvcProcess(workspace, ['watch']);
  await watch.printed(/inference turn 2/);
  return { workspace, process, line, watch, commandPid: await pidIn(join(line.workdir, 'pid')) };
}

async function pidIn(file: string): Promise<number> {
  const written = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  await expect.poll(written).toMatch(/\n$/);
  return Number(written());
}

/** A killed process is there until the process that inherited it has taken note. */
async function gone(pid: number): Promise<void> {
  await expect.poll(() => isRunning(pid)).toBe(false);
}

describe('a capsule that is told to stop', () => {
  it('at once, by a later signal, leaves nothing of its agent running', async () => {
    const { workspace, process, watch, commandPid } = await busyCapsule();
    // The command ignores them all, so a clean stop would take its time.
    const again = setInterval(() => process.child.kill('SIGTERM'), 50);
    process.child.kill('SIGINT');
    const { code } = await process.ended;
    clearInterval(again);
    expect(code).toBe(143);
    await watch.ended;
    await gone(commandPid);
    workspace.remove();
  });

  it('by two signals that come together, as of npm and a terminal, ends in order', async () => {
    const { workspace, process, line, commandPid } = await busyCapsule();
    // However busy the machine is, it finds them all together.
    for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGINT', 'SIGCONT'] as const) process.child.kill(signal);
    expect(await process.ended).toMatchObject({ code: 1, signal: null });
    expect(readTrace(tracePath(workspace, line.session_id)).at(-1)).toMatchObject({ event_type: 'session_end' });
    await gone(commandPid);
    workspace.remove();
  });

  it('by the closing of its terminal, ends in order', async () => {
    const { workspace, process, commandPid } = await busyCapsule();
    process.child.kill('SIGHUP');
    const { code, signal } = await process.ended;
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    await gone(commandPid);
    workspace.remove();
  });
});

describe('what svc run is given', () => {
  it.each([
    [['--bind', ''], 2, 'it is empty'],
    [['--capsule', 'demo', '--capsule-version', 'latest'], 1, 'error[E-REG-004]'],
    [['--capsule', '../x', '--capsule-version', '1.0.0'], 1, 'error[E-ART-008]'],
    [['--capsule', 'demo', '--capsule-version', '../../x'], 1, 'error[E-ART-008]'],
  ])('%j is refused with code %i', async (args, code, text) => {
    const workspace = scriptCapsule();
    const end = await svc(workspace, ['run', ...args]);
    expect(end).toMatchObject({ code, stdout: '' });
    expect(end.stderr).toContain(text);
    workspace.remove();
  });
});
