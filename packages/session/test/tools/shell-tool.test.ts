import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { BackgroundCommands } from '../../src/tools/background/background-commands.ts';
import { createShellTools } from '../../src/tools/shell-tool.ts';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { recordingContext } from './tool-context.ts';
import { isRunning } from '../../../../test/support/is-gone.ts';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };
let workdir: string;
let sessionDirectory: string;

beforeEach(() => {
  workdir = mkdtempSync(join(tmpdir(), 'svc-shell-work-'));
  sessionDirectory = mkdtempSync(join(tmpdir(), 'svc-shell-session-'));
});

afterEach(() => {
  rmSync(workdir, { recursive: true, force: true });
  rmSync(sessionDirectory, { recursive: true, force: true });
});

function background(): BackgroundCommands {
  return new BackgroundCommands({ clock: new FakeClock(), graceMs: 10_000, endIsTold: true });
}

const secret = 'canary-of-the-service-0123456789';
const redactor = new Redactor();
redactor.register(new Secret(secret));
await redactor.learnSpellings();
const cutBefore = (text: string): string => redactor.cutBefore(text);

function shellTool(name: string, launcher: Launcher = createDirectLauncher({ cwd: workdir, drainMs: 100 })): Tool {
  const [tool] = createShellTools([name], {
    launcher,
    env,
    sessionDirectory,
    logs: new LogBudget(),
    cutBefore,
    background: background(),
  });
  if (tool === undefined) throw new Error('no tool was made');
  return tool;
}

function run(name: string, command: string): Promise<ToolOutcome> {
  return shellTool(name).call({ command }, recordingContext());
}

describe('a shell tool', () => {
  it('gives the command, its exit code and both outputs, and hands stdout to another call', async () => {
    expect(await run('sh', 'echo out; echo err >&2')).toEqual({
      status: 'passed',
      content: 'command: echo out; echo err >&2\nexit code: 0\nstdout:\nout\nstderr:\nerr',
      output: 'out\n',
      exitCode: 0,
      truncated: false,
    });
  });

  it('has passed whatever the exit status of a command that ran to completion [D1-FRAME-34]', async () => {
    expect(await run('sh', 'exit 3')).toEqual({
      status: 'passed',
      content: 'command: exit 3\nexit code: 3\nstdout: (empty)\nstderr: (empty)',
      output: '',
      exitCode: 3,
      truncated: false,
    });
  });

  it('has failed when a signal ended the command, and has no exit status then', async () => {
    expect(await run('sh', 'kill -KILL $$')).toEqual({
      status: 'failed',
      content: 'command: kill -KILL $$\nended by signal: SIGKILL\nstdout: (empty)\nstderr: (empty)',
      output: '',
      exitCode: null,
      truncated: false,
    });
  });

  it('runs in the working directory with exactly its environment and nothing on standard input', async () => {
    const { content } = await run('sh', 'pwd -P; cat; env | grep -v -e ^PWD= -e ^_= -e ^OLDPWD= -e ^SHLVL= | sort');
    expect(content).toContain(`stdout:\n${workdir}\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nstderr: (empty)`);
  });

  it('gives a command line to a shell as it is, also one that begins like an option', async () => {
    expect((await run('bash', 'for i in 1 2; do printf "$i "; done')).content).toContain('stdout:\n1 2 \n');
    expect((await run('sh', '-x')).content).toMatch(/^command: -x\nexit code: 127\n/);
  });

  it('splits the arguments of any other program into words without a shell', async () => {
    const { content } = await run('printf', `'%s|' a "b c" $HOME '*' ; id`);
    expect(content).toContain(`command: printf '%s|' a "b c" $HOME '*' ; id\n`);
    expect(content).toContain('stdout:\na|b c|$HOME|*|;|id|\n');
    expect((await run('true', '')).content).toMatch(/^command: true\nexit code: 0\n/);
  });

  it('never reaches the program when quotes are unbalanced or it cannot be started', async () => {
    const nothingRan = { status: 'failed', exitCode: null, truncated: false, reached: false };
    expect(await run('printf', `it's`)).toEqual({
      ...nothingRan,
      content: "the command cannot be split into words: a ' is not closed",
    });
    expect(await run('no-such-program', 'x')).toEqual({
      ...nothingRan,
      content: 'no-such-program could not be started: no such command',
    });
    expect(await run('sh', 'echo \0')).toEqual({
      ...nothingRan,
      content: 'sh could not be started: an argument holds a NUL character',
    });
    expect(await run('sh', `: ${'x'.repeat(3_000_000)}`)).toEqual({
      ...nothingRan,
      content: 'sh could not be started: the arguments are too long',
    });
  });

  it('offers one tool per allowed name', () => {
    const launcher = createDirectLauncher({ cwd: workdir });
    const settings = {
      launcher,
      env,
      sessionDirectory,
      logs: new LogBudget(),
      cutBefore,
      background: background(),
    };
    const tools = createShellTools(['git', 'sh', 'git'], settings);
    expect(tools.map(({ name, kind }) => [name, kind])).toEqual([
      ['git', 'shell'],
      ['sh', 'shell'],
    ]);
    expect(tools[0]?.inputSchema.required).toEqual(['command']);
  });
});

describe('a long output', () => {
  it('goes into its log up to what all logs of the session may hold, which the result says', async () => {
    const settings = { env, sessionDirectory, logs: new LogBudget(50_000), cutBefore, background: background() };
    const launcher = createDirectLauncher({ cwd: workdir, drainMs: 100 });
    const [tool] = createShellTools(['sh'], { ...settings, launcher });
    const results: string[] = [];
    for (let call = 0; call < 4; call += 1) {
      const outcome = await tool?.call({ command: 'head -c 40000 /dev/zero | tr "\\0" x' }, recordingContext());
      results.push(outcome?.content.split('\n').find((line) => line.includes('more bytes are not shown')) ?? '');
    }
    const all =
      'all logs of a session hold 50000 bytes at most, out of reach of tools: what a command writes into a file can be read in parts]';
    expect(results).toEqual([
      '[23616 more bytes are not shown; the whole is kept in logs/1-sh-stdout.log, out of reach of tools: what a command writes into a file can be read in parts]',
      `[23616 more bytes are not shown; logs/2-sh-stdout.log: only the first 10000 bytes are kept: ${all}`,
      `[23616 more bytes are not shown; logs/3-sh-stdout.log: only the first 0 bytes are kept: ${all}`,
      `[23616 more bytes are not shown; logs/4-sh-stdout.log: only the first 0 bytes are kept: ${all}`,
    ]);
    const logs = readdirSync(join(sessionDirectory, 'logs'));
    expect(logs.map((name) => statSync(join(sessionDirectory, 'logs', name)).size)).toEqual([40_000, 10_000]);
  });

  it('shows 16 KiB, with the whole in logs/ [D1-FRAME-31]', async () => {
    const { content, truncated, exitCode } = await run('sh', 'seq 1 10000; echo brief >&2');
    expect([truncated, exitCode]).toEqual([true, 0]);
    const whole = Array.from({ length: 10_000 }, (_, index) => `${index + 1}\n`).join('');
    const shown = whole.slice(0, 16_384);
    expect(content).toBe(
      `command: seq 1 10000; echo brief >&2\nexit code: 0\nstdout:\n${shown}\n` +
        `[${whole.length - 16_384} more bytes are not shown; the whole is kept in logs/1-sh-stdout.log, out of reach of tools: what a command writes into a file can be read in parts]\n` +
        'stderr:\nbrief',
    );
    expect(readFileSync(join(sessionDirectory, 'logs', '1-sh-stdout.log'), 'utf8')).toBe(whole);
    expect(readdirSync(join(sessionDirectory, 'logs'))).toEqual(['1-sh-stdout.log']);
    expect(statSync(join(sessionDirectory, 'logs', '1-sh-stdout.log')).mode & 0o777).toBe(0o600);
  });

  it('shows exactly 16 KiB whole', async () => {
    const { content, truncated } = await run('sh', 'head -c 16384 /dev/zero | tr "\\0" x');
    expect(truncated).toBe(false);
    expect(content).toContain(`stdout:\n${'x'.repeat(16_384)}\nstderr`);
    expect(existsSync(join(sessionDirectory, 'logs'))).toBe(false);
  });

  it.each([4, 10, 20, 31])('ends before a secret that would show %i characters', async (kept) => {
    const before = 'x'.repeat(16_384 - kept);
    const { content, output, truncated } = await run('sh', `printf %s ${before}; printf ${secret}yz; echo ok >&2`);
    expect({ output, truncated }).toEqual({ output: before, truncated: true });
    const shown = content.slice(content.indexOf('stdout:'));
    expect(shown).toBe(
      `stdout:\n${before}\n[34 more bytes are not shown; the whole is kept in logs/1-sh-stdout.log, out of reach of tools: what a command writes into a file can be read in parts]\nstderr:\nok`,
    );
    expect(readFileSync(join(sessionDirectory, 'logs', '1-sh-stdout.log'), 'utf8')).toBe(`${before}${secret}yz`);
  });

  it('shows a secret that fits, and three characters of one', async () => {
    const whole = 'x'.repeat(16_384 - 32) + secret;
    expect((await run('sh', `printf %s ${whole}yz`)).output).toBe(whole);
    const beginning = `${'x'.repeat(16_381)}can`;
    expect((await run('sh', `printf %s ${beginning}${secret.slice(3)}`)).output).toBe(beginning);
  });

  it('breaks between characters', async () => {
    const { content } = await run('sh', 'i=0; while [ $i -lt 2000 ]; do printf "xyzäöü日本"; i=$((i+1)); done');
    expect(content).not.toContain('\uFFFD');
    const cut = /\[(\d+) more bytes/.exec(content)?.[1];
    const shown = /stdout:\n(.*)\n\[/.exec(content)?.[1] ?? '';
    expect(Buffer.byteLength(shown)).toBeGreaterThan(16_380);
    expect(Number(cut)).toBe(2000 * 15 - Buffer.byteLength(shown));
  });

  it('keeps bytes that are no text from breaking anything', async () => {
    const { content } = await run('sh', String.raw`printf '\377\376\200ok\000'`);
    expect(content).toContain('stdout:\n\uFFFD\uFFFD\uFFFDok\0\n');
  });

  it('has a log for each call and stream', async () => {
    const tool = shellTool('sh');
    const command = 'seq 1 5000 | tee /proc/self/fd/2 2>/dev/null; seq 1 5000 >&2';
    await Promise.all([tool.call({ command }, recordingContext()), tool.call({ command }, recordingContext())]);
    expect(readdirSync(join(sessionDirectory, 'logs')).sort()).toEqual([
      '1-sh-stderr.log',
      '1-sh-stdout.log',
      '2-sh-stderr.log',
      '2-sh-stdout.log',
    ]);
  });

  it('stops being logged at 64 MiB, and does not stop the command', async () => {
    const { content, exitCode } = await run('sh', 'head -c 70000000 /dev/zero; exit 4');
    expect(exitCode).toBe(4);
    expect(content).toContain('logs/1-sh-stdout.log: only the first 67108864 bytes are kept');
    expect(statSync(join(sessionDirectory, 'logs', '1-sh-stdout.log')).size).toBe(67_108_864);
  });

  it('does not cost the result when the log cannot be written, and follows no link planted for it', async () => {
    mkdirSync(join(sessionDirectory, 'logs'));
    symlinkSync('/dev/full', join(sessionDirectory, 'logs', '1-sh-stdout.log'));
    const { content, truncated, exitCode } = await run('sh', 'seq 1 10000');
    expect([truncated, exitCode]).toEqual([true, 0]);
    expect(content).toContain('logs/1-sh-stdout.log: the log cannot be written (EEXIST)');
  });
});

describe('a canceled command', () => {
  it('ends with its whole group, and the call rejects with the reason', async () => {
    const cancel = new AbortController();
    const reason = new Error('task canceled');
    const call = shellTool('sh').call(
      { command: `trap '' TERM; sh -c 'echo $$ >pid; exec sleep 60' & wait; sleep 60` },
      recordingContext({ signal: cancel.signal }),
    );
    const written = (): string => readFileSync(join(workdir, 'pid'), 'utf8');
    await expect.poll(written).toMatch(/^\d+\n$/);
    const pid = Number(written());
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('ends at once when the cancel came while it was being started', async () => {
    const reason = new Error('task canceled');
    const call = shellTool('sleep').call({ command: '60' }, recordingContext({ signal: AbortSignal.abort(reason) }));
    await expect(call).rejects.toBe(reason);
  });
});
