import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { BackgroundCommands } from '../../src/tools/background/background-commands.ts';
import { createShellTools } from '../../src/tools/shell-tool.ts';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { FakeProcess, launcherOf } from '../../../../test/support/fake-process.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { recordingContext } from './tool-context.ts';
import { isRunning } from '../../../../test/support/is-gone.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

/** The first id that a fresh clock gives. */
const firstId = 'wrk_0199c82ce71070018203040506070801';

let sessionDirectory: string;
let clock: FakeClock;
let background: BackgroundCommands;
let told: string[];

eachFolder('svc-background-', (made) => {
  sessionDirectory = made;
  clock = new FakeClock();
  begin({ endIsTold: true });
});

function begin({ endIsTold }: { readonly endIsTold: boolean }): void {
  background = new BackgroundCommands({ clock, graceMs: 10_000, endIsTold });
  const mine: string[] = [];
  told = mine;
  background.observe({
    moved: ({ taskId, name, command }) => mine.push(`moved ${taskId} ${name}: ${command}`),
    ended: ({ command }, { outcome, durationMs, stopped }) =>
      mine.push(`${stopped ? 'stopped' : 'ended'} ${command} after ${durationMs} ms, exit code ${outcome.exitCode}`),
  });
}

function shell(launcher: Launcher, name = 'sh'): Tool {
  const [tool] = createShellTools([name], {
    launcher,
    env: { PATH: '/usr/bin:/bin' },
    sessionDirectory,
    logs: new LogBudget(),
    cutBefore: (text) => text.replace(/canary$/, ''),
    background,
  });
  if (tool === undefined) throw new Error('no tool was made');
  return tool;
}

function call(tool: Tool, command: string, signal = new AbortController().signal): Promise<ToolOutcome> {
  return tool.call({ command }, recordingContext({ signal }));
}

/** A call of a process that the test plays, once it is waited for. */
async function started(
  process: FakeProcess,
  signal?: AbortSignal,
): Promise<{ readonly outcome: Promise<ToolOutcome> }> {
  const outcome = call(shell(launcherOf(process)), 'make', signal);
  await new Promise(setImmediate);
  return { outcome };
}

function log(name: string): string {
  return readFileSync(join(sessionDirectory, 'logs', name), 'utf8');
}

describe('a command that outlasts its grace', () => {
  it('answers its call with what there is so far, and goes on under an id [D1-FRAME-30]', async () => {
    const process = new FakeProcess();
    const { outcome } = await started(process);
    await process.writes('begun\n');
    clock.advance(10_000);
    expect(await outcome).toEqual({
      status: 'passed',
      content:
        `command: make\nstill running after 10 s: it goes on in the background as ${firstId}; ` +
        'its end arrives as a task of its own, unless the session ends before\n' +
        'stdout so far:\nbegun\nstderr so far: (empty)\n' +
        '[its end brings the first 16 KiB of each output; what a command writes into a file can be read while it runs]',
      output: 'begun\n',
      exitCode: null,
      truncated: false,
    });
    expect(background.running).toEqual([{ id: firstId, taskId: 'tsk_1', name: 'sh', command: 'make' }]);
    expect(process.signals).toEqual([]);
    process.exits(0);
  });

  it('holds up its call until then', async () => {
    const process = new FakeProcess();
    const { outcome } = await started(process);
    clock.advance(9_999);
    await process.writes('done\n');
    process.exits(3);
    expect(await outcome).toMatchObject({
      content: 'command: make\nexit code: 3\nstdout:\ndone\nstderr: (empty)',
      exitCode: 3,
    });
    clock.advance(10_000);
    expect(background.running).toEqual([]);
    expect(told).toEqual([]);
    expect(existsSync(join(sessionDirectory, 'logs'))).toBe(false);
  });

  it('reaches the model once it has ended, with everything it wrote in its logs', async () => {
    let ends: ToolOutcome | null = null;
    background.observe({ moved: () => {}, ended: (_, { outcome }) => (ends = outcome) });
    const process = new FakeProcess();
    const { outcome } = await started(process);
    await process.writes('begun\n');
    clock.advance(10_000);
    await outcome;
    await process.writes('more\n');
    await expect.poll(() => log('1-sh-stdout.log')).toBe('begun\nmore\n');
    await process.writes('no\n', 'stderr');
    process.exits(1);
    await background.stop();
    expect(ends).toEqual({
      status: 'passed',
      content: 'command: make\nexit code: 1\nstdout:\nbegun\nmore\nstderr:\nno',
      output: 'begun\nmore\n',
      exitCode: 1,
      truncated: false,
    });
    expect(log('1-sh-stderr.log')).toBe('no\n');
    expect(statSync(join(sessionDirectory, 'logs/1-sh-stderr.log')).mode & 0o777).toBe(0o600);
  });

  it('has the time since its start on it', async () => {
    const process = new FakeProcess();
    const { outcome } = await started(process);
    clock.advance(10_000);
    await outcome;
    clock.advance(5_000);
    process.exits(0);
    await expect.poll(() => told).toEqual(['moved tsk_1 sh: make', 'ended make after 15000 ms, exit code 0']);
    expect(background.running).toEqual([]);
  });

  it('shows nothing of a secret that has come in part', async () => {
    const process = new FakeProcess();
    const { outcome } = await started(process);
    await process.writes('the token is canary');
    clock.advance(10_000);
    expect(await outcome).toMatchObject({
      content: expect.stringContaining('\nstdout so far:\nthe token is \n[6 more bytes are not shown]\nstderr'),
      output: 'the token is ',
      truncated: true,
    });
    process.exits(0);
    await background.stop();
    expect(log('1-sh-stdout.log')).toBe('the token is canary');
  });

  it('shows 16 KiB of a longer output, and all of it is in the log, which no tool can reach and no result names', async () => {
    let ends: ToolOutcome | null = null;
    background.observe({ moved: () => {}, ended: (_, { outcome }) => (ends = outcome) });
    const process = new FakeProcess();
    const { outcome } = await started(process);
    await process.writes('x'.repeat(20_000));
    clock.advance(10_000);
    expect(await outcome).toMatchObject({
      content: expect.stringContaining(
        `\nstdout so far:\n${'x'.repeat(16_384)}\n[3616 more bytes are not shown]\nstderr`,
      ),
      truncated: true,
    });
    await process.writes('y');
    process.exits(0);
    await background.stop();
    expect(ends).toMatchObject({
      content: `command: make\nexit code: 0\nstdout:\n${'x'.repeat(16_384)}\n[3617 more bytes are not shown]\nstderr: (empty)`,
      truncated: true,
    });
    expect(log('1-sh-stdout.log')).toBe(`${'x'.repeat(20_000)}y`);
  });

  it('shows no half of a character that is still to come, and loses none', async () => {
    const process = new FakeProcess();
    const { outcome } = await started(process);
    await process.writes(Uint8Array.of(0x61, 0xe2, 0x82));
    clock.advance(10_000);
    expect(await outcome).toMatchObject({
      content: expect.stringContaining('stdout so far:\na\nstderr'),
      truncated: false,
    });
    await process.writes(Uint8Array.of(0xac));
    process.exits(0);
    await background.stop();
    expect(log('1-sh-stdout.log')).toBe('a€');
  });

  it('warns that its end stays unreported where the session takes no other task', async () => {
    begin({ endIsTold: false });
    const process = new FakeProcess();
    const tool = shell(launcherOf(process));
    expect(tool.description).toMatch(/runs longer than 10 s goes on in the background, and its end is not reported\.$/);
    const outcome = call(tool, 'make');
    await new Promise(setImmediate);
    clock.advance(10_000);
    const { content } = await outcome;
    expect(content).toContain(`as ${firstId}; it is ended with the session, and its end is not reported\n`);
    expect(content).toMatch(
      /\n\[what it writes from now on is not shown; what a command writes into a file can be read while it runs\]$/,
    );
    process.exits(0);
  });

  it('ends as the seventeenth, and says why', async () => {
    const sixteen = Array.from({ length: 16 }, () => new FakeProcess());
    for (const process of sixteen) {
      const { outcome } = await started(process);
      clock.advance(10_000);
      await outcome;
    }
    const last = new FakeProcess();
    const { outcome } = await started(last);
    await last.writes('begun\n');
    clock.advance(10_000);
    expect(last.signals).toEqual(['SIGTERM']);
    expect(await outcome).toEqual({
      status: 'failed',
      content:
        'command: make\nended by signal: SIGTERM\nstdout:\nbegun\nstderr: (empty)\n' +
        '[it was ended after 10 s: 16 commands go on in the background already, and no more may]',
      output: 'begun\n',
      exitCode: null,
      truncated: false,
    });
    expect(background.running).toHaveLength(16);
    expect(told).toHaveLength(16);
    sixteen[0]?.exits(0);
    await expect.poll(() => background.running.length).toBe(15);
    const next = new FakeProcess();
    const { outcome: moved } = await started(next);
    clock.advance(10_000);
    expect(await moved).toMatchObject({ exitCode: null, status: 'passed' });
    await background.stop();
  });
});

describe('a cancel', () => {
  it('within the grace ends the command, which is not moved although it lingers', async () => {
    const controller = new AbortController();
    const process = new FakeProcess(['SIGTERM']);
    const { outcome } = await started(process, controller.signal);
    controller.abort(new Error('the task was canceled'));
    clock.advance(10_000);
    expect(process.signals).toEqual(['SIGTERM']);
    expect(background.running).toEqual([]);
    process.kill('SIGKILL');
    await expect(outcome).rejects.toThrow('the task was canceled');
    expect(told).toEqual([]);
  });

  it('leaves the command alone when it comes after it', async () => {
    const controller = new AbortController();
    const process = new FakeProcess();
    const { outcome } = await started(process, controller.signal);
    clock.advance(10_000);
    await outcome;
    controller.abort(new Error('the task was canceled'));
    expect(process.signals).toEqual([]);
    expect(background.running).toHaveLength(1);
    process.exits(0);
    await expect.poll(() => told.at(-1)).toBe('ended make after 10000 ms, exit code 0');
  });
});

describe('the end of the session', () => {
  it('ends what runs in the background, reports it, and moves nothing more', async () => {
    const [first, second] = [new FakeProcess(), new FakeProcess()];
    for (const process of [first, second]) {
      const { outcome } = await started(process);
      clock.advance(10_000);
      await outcome;
    }
    const late = new FakeProcess();
    const { outcome } = await started(late);
    await background.stop();
    expect([first.signals, second.signals]).toEqual([['SIGTERM'], ['SIGTERM']]);
    expect(told.slice(2).toSorted()).toEqual([
      'stopped make after 10000 ms, exit code null',
      'stopped make after 20000 ms, exit code null',
    ]);
    clock.advance(10_000);
    expect(background.running).toEqual([]);
    late.exits(0);
    expect(await outcome).toMatchObject({ exitCode: 0 });
  });

  it('ends the whole tree of a real command', async () => {
    const workdir = mkdtempSync(join(tmpdir(), 'svc-background-work-'));
    try {
      const tool = shell(createDirectLauncher({ cwd: workdir, drainMs: 100 }));
      const outcome = call(tool, 'sleep 1000 & echo $! > child; echo $$ > self; wait');
      const self = join(workdir, 'self');
      await expect.poll(() => (existsSync(self) ? readFileSync(self, 'utf8') : '')).toMatch(/^\d+\n$/);
      clock.advance(10_000);
      expect(await outcome).toMatchObject({ exitCode: null });
      await background.stop();
      const pids = ['self', 'child'].map((file) => readFileSync(join(workdir, file), 'utf8').trim());
      // What it started is killed with it, and gone soon.
      await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    } finally {
      rmSync(workdir, { recursive: true, force: true });
    }
  });
});
