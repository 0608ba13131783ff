import { mkdtempSync, rmSync, writeFileSync, chmodSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import type { LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import type { Driver, DriverOutcome, InferenceCall, InferenceRequest } from '../../src/model/driver.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { createProcessDriver, type ProgramSettings } from '../../src/model/process-driver.ts';
import { noToolCalls } from '../../../../test/support/quiet-calls.ts';
import { isRunning } from '../../../../test/support/is-gone.ts';

const program = join(import.meta.dirname, 'line-driver.mjs');

function notAsked(): never {
  throw new Error('a driver of the default dialect needs nothing of it');
}

const noProgram: ProgramSettings = {
  service: {
    token: new Secret('none'),
    mintName: notAsked,
    version: '0',
    launcherFor: notAsked,
    addressFor: notAsked,
    onBug: notAsked,
  },
  apiKey: null,
  maxTurns: 1,
  hasNetwork: false,
};

let folder: string;
let started: LaunchedProcess[];

/** Remembers what it started. */
const launcher: Launcher = {
  async launch(request) {
    const outcome = await createDirectLauncher({ cwd: folder, drainMs: 100 }).launch(request);
    if (outcome.kind === 'started') started.push(outcome.process);
    return outcome;
  },
};

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-process-driver-')));
  started = [];
});

afterEach(async () => {
  for (const launched of started) launched.kill('SIGKILL');
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
});

function driver(command: string | readonly string[], endGraceMs = 5000): Promise<Driver> {
  return createProcessDriver({
    command,
    manifestDirectory: folder,
    launcher,
    program: noProgram,
    env: { PATH: '/usr/bin:/bin', MODEL_HOME: '/models' },
    redact: (text) => text.replaceAll('sk-live-1', '[secret]'),
    endGraceMs,
  });
}

const scenario = (name: string, endGraceMs?: number): Promise<Driver> =>
  driver([process.execPath, program, name], endGraceMs);

function request(text: string): InferenceRequest {
  return {
    model: 'm',
    system: '',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    tools: [],
    maxTokens: 9,
  };
}

function recordingCall(
  signal: AbortSignal = new AbortController().signal,
): InferenceCall & { readonly chunks: string[] } {
  const chunks: string[] = [];
  return {
    signal,
    onText: (text) => void chunks.push(`text ${text}`),
    onThinking: (text) => void chunks.push(`thinking ${text}`),
    ...noToolCalls,
    chunks,
  };
}

/** The outcome of one turn of a task of its own. */
async function firstTurn(of: Driver): Promise<DriverOutcome> {
  const task = of.openTask();
  const outcome = await task.infer(request('hello'), recordingCall());
  await task.close();
  return outcome;
}

function replyOf(outcome: DriverOutcome): string {
  const [block] = outcome.kind === 'response' ? outcome.response.content : [];
  return block?.type === 'text' ? block.text : JSON.stringify(outcome);
}

describe('a process driver', () => {
  it('answers one request a turn, with chunks before the response, from one process a task', async () => {
    const task = (await scenario('echo')).openTask();
    const call = recordingCall();
    const first = await task.infer(request('one'), call);
    const second = await task.infer(request('two'), recordingCall());
    await task.close();
    const pid = started[0]?.pid;
    expect(call.chunks).toEqual(['thinking hm', 'text a', 'text b']);
    expect(replyOf(first)).toBe(`turn 1 of ${pid}: one`);
    expect(replyOf(second)).toBe(`turn 2 of ${pid}: two`);
    expect(first).toMatchObject({ response: { usage: { inputTokens: 1, outputTokens: 2 } } });
    expect(started).toHaveLength(1);
    expect(await started[0]?.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });

  it('starts nothing for a task that makes no call, and another process for another task', async () => {
    const echo = await scenario('echo');
    await echo.openTask().close();
    expect(started).toHaveLength(0);
    await firstTurn(echo);
    await firstTurn(echo);
    expect(started).toHaveLength(2);
  });

  it('runs in the workdir with exactly its environment', async () => {
    expect(JSON.parse(replyOf(await firstTurn(await scenario('environment'))))).toEqual({
      env: { PATH: '/usr/bin:/bin', MODEL_HOME: '/models' },
      cwd: folder,
    });
  });

  it('may be a line of words, and a path beside the manifest', async () => {
    writeFileSync(join(folder, 'my driver'), `#!/bin/sh\nexec ${process.execPath} ${program} "$1"\n`);
    chmodSync(join(folder, 'my driver'), 0o755);
    const named = await driver(`./'my driver' echo`);
    expect(named.label).toBe('./my driver');
    expect(replyOf(await firstTurn(named))).toMatch(/^turn 1 of \d+: hello$/);
  });

  it('may be slow to write a line, or leave out its last line feed', async () => {
    expect(replyOf(await firstTurn(await scenario('bytes')))).toBe('ä€😀');
    expect(await firstTurn(await scenario('no-line-feed'))).toEqual({
      kind: 'response',
      response: { content: [], stopReason: 'end_turn' },
    });
  });

  it('has its arguments in no label and its secrets in no failure', async () => {
    const failing = await driver(['sh', '-c', 'read line; echo refused: sk-live-1 >&2; exit 4', 'sk-live-1']);
    expect(failing.label).toBe('sh');
    expect(await firstTurn(failing)).toEqual({
      kind: 'failed',
      error: 'the driver exited with status 4 before its response: refused: [secret]',
    });
  });

  it('may flood its stderr', async () => {
    expect(replyOf(await firstTurn(await scenario('flood-stderr')))).toBe('survived');
  });
});

describe('a process driver that goes wrong', () => {
  it('fails as unavailable when it cannot start', async () => {
    expect(await firstTurn(await driver('no-such-driver --fast'))).toEqual({
      kind: 'unavailable',
      error: 'no-such-driver could not be started: no such command',
    });
  });

  it.each<[string, DriverOutcome]>([
    [
      'not-json',
      {
        kind: 'malformed',
        error: 'the driver wrote a line that is not JSON: "Traceback (most recent call last):"',
      },
    ],
    ['not-text', { kind: 'malformed', error: String.raw`the driver wrote a line that is not JSON: "\"�\""` }],
    [
      'other-shape',
      {
        kind: 'failed',
        error: 'the driver wrote a line of another shape: response.content must be a list',
      },
    ],
    ['too-deep', { kind: 'failed', error: 'the driver wrote JSON that is nested too deeply' }],
    [
      'exit',
      {
        kind: 'failed',
        error: 'the driver exited with status 3 before its response: one\ntwo\nthree\nfour\nfive\nsix',
      },
    ],
    ['exit-at-once', { kind: 'failed', error: 'the driver exited with status 9 before its response' }],
    ['kill-itself', { kind: 'failed', error: 'the driver was ended by SIGKILL before its response' }],
    [
      'half-a-line',
      { kind: 'failed', error: 'the driver exited with status 0 in the middle of a line, before its response' },
    ],
    ['many-values', { kind: 'failed', error: 'the driver wrote a line of more than 262144 values' }],
    ['long-line', { kind: 'failed', error: 'the driver wrote a line of more than 16777216 bytes' }],
  ])('reports %s', async (name, outcome) => {
    expect(await firstTurn(await scenario(name))).toEqual(outcome);
    expect(started.filter(({ pid }) => isRunning(pid))).toEqual([]);
  });

  it('reports that it closed its output', async () => {
    expect(await firstTurn(await scenario('closes-output', 100))).toEqual({
      kind: 'failed',
      error: 'the driver closed its output before its response',
    });
  });

  it('fails the turn after one in which it wrote more than its response', async () => {
    const task = (await scenario('talks-on')).openTask();
    expect(replyOf(await task.infer(request('a'), recordingCall()))).toBe('first');
    await started[0]?.ended;
    expect(await task.infer(request('b'), recordingCall())).toEqual({
      kind: 'failed',
      error: 'the driver wrote a line that nobody asked for',
    });
    await task.close();
  });

  it('stays failed for the rest of the task', async () => {
    const task = (await scenario('exit')).openTask();
    const first = await task.infer(request('a'), recordingCall());
    expect(await task.infer(request('b'), recordingCall())).toEqual(first);
    await task.close();
    expect(started).toHaveLength(1);
  });
});

describe('a process driver', () => {
  it('ends at once at a cancel', async () => {
    const cancel = new AbortController();
    const task = (await scenario('silent')).openTask();
    const outcome = task.infer(request('a'), recordingCall(cancel.signal));
    await expect.poll(() => started).toHaveLength(1);
    cancel.abort(new Error('task canceled'));
    expect((await outcome).kind).toBe('failed');
    await task.close();
    expect(started.filter(({ pid }) => isRunning(pid))).toEqual([]);
  });

  it('ends at a cancel before the first turn', async () => {
    const task = (await scenario('echo')).openTask();
    const call = recordingCall(AbortSignal.abort(new Error('task canceled')));
    expect((await task.infer(request('a'), call)).kind).toBe('failed');
    await task.close();
    expect(call.chunks).toEqual([]);
  });

  it('ends by force when it ignores the closing of its input and the request to end', async () => {
    const stays = await scenario('stays', 100);
    const task = stays.openTask();
    const pid = Number(replyOf(await task.infer(request('a'), recordingCall())));
    expect(isRunning(pid)).toBe(true);
    await Promise.all([task.close(), task.close(), stays.close()]);
    expect(await started[0]?.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
  });

  it('ends with the tasks still open when it is closed', async () => {
    const echo = await scenario('echo');
    const task = echo.openTask();
    await task.infer(request('a'), recordingCall());
    await echo.close();
    expect(await started[0]?.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });
});

describe('a command that is no driver of this dialect', () => {
  it.each<[string, string | readonly string[], RegExp]>([
    ['blank', '  ', /names no program/],
    ['an empty word', [''], /names no program/],
    ['unbalanced', `driver "one`, /cannot be split into words: a " is not closed/],
  ])('fails with E-MAN-003 when it is %s', async (_, command, message) => {
    await expect(driver(command)).rejects.toThrow(message);
    await expect(driver(command)).rejects.toThrow(expect.objectContaining({ code: 'E-MAN-003' }));
  });
});
