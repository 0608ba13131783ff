import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import type { LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Driver, DriverOutcome, InferenceCall, InferenceRequest, Message } from '../../src/model/driver.ts';
import { createProcessDriver, type ProgramSettings } from '../../src/model/process-driver.ts';
import { doing, placeStandIn, type StandInName, type StandInStep } from '../../../../test/support/stand-in.ts';
import { isRunning } from '../../../../test/support/is-gone.ts';

const token = 'token-of-this-session';

/** Fails the run: no test is about a bug. */
function raise(bug: unknown): void {
  process.nextTick(() => {
    throw bug;
  });
}

let folder: string;
let started: LaunchedProcess[];
let drivers: Driver[];

/** Remembers what it started. */
const launcher: Launcher = {
  async launch(request) {
    const outcome = await createDirectLauncher({ cwd: folder, drainMs: 100 }).launch(request);
    if (outcome.kind === 'started') started.push(outcome.process);
    return outcome;
  },
};

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-cli-driver-')));
  started = [];
  drivers = [];
});

afterEach(async () => {
  for (const launched of started) launched.kill('SIGKILL');
  await Promise.all(started.map(({ ended }) => ended));
  await Promise.all(drivers.map((driver) => driver.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function driver(command: StandInName, over: Partial<ProgramSettings> = {}, endGraceMs = 5000): Promise<Driver> {
  placeStandIn(join(folder, 'bin'), command);
  let names = 0;
  const made = await createProcessDriver({
    command: [command, '--from-the-manifest'],
    manifestDirectory: folder,
    launcher,
    program: {
      service: {
        token: new Secret(token),
        mintName: () => `name-${(names += 1)}`,
        version: '1.2.3',
        launcherFor: () => launcher,
        addressFor: (port) => `127.0.0.1:${port}`,
        onBug: raise,
      },
      apiKey: new Secret('sk-live-1'),
      maxTurns: 10,
      hasNetwork: true,
      ...over,
    },
    env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: folder },
    redact: (text) => text.replaceAll('sk-live-1', '[secret]'),
    endGraceMs,
  });
  drivers.push(made);
  return made;
}

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });

function request(...messages: readonly Message[]): InferenceRequest {
  const count = { name: 'count', description: 'Counts.', inputSchema: { type: 'object' } };
  return { model: 'm-1', system: 'You count.', messages, tools: [count], maxTokens: 900 };
}

interface RecordedCall extends InferenceCall {
  readonly seen: string[];
}

function recordingCall(over: Partial<InferenceCall> = {}): RecordedCall {
  const seen: string[] = [];
  return {
    place: 'tsk_1/1/m1',
    signal: new AbortController().signal,
    onText: (text) => void seen.push(`text ${text}`),
    onThinking: (text) => void seen.push(`thinking ${text}`),
    callTool: async ({ id, name, input }) => {
      seen.push(`call ${id}${name} ${JSON.stringify(input)}`);
      return { content: '42', isError: false };
    },
    ...over,
    seen,
  };
}

async function infer(of: Driver, messages: readonly Message[], call: InferenceCall = recordingCall()) {
  const task = of.openTask();
  const outcome = await task.infer(request(...messages), call);
  await task.close();
  return outcome;
}

const run = (of: Driver, ...steps: readonly StandInStep[]): Promise<DriverOutcome> =>
  infer(of, [user(doing(...steps))]);

function replyOf(outcome: DriverOutcome): string {
  const [block] = outcome.kind === 'response' ? outcome.response.content : [];
  return block?.type === 'text' ? block.text : JSON.stringify(outcome);
}

const nobodyRuns = (): void => expect(started.filter(({ pid }) => isRunning(pid))).toEqual([]);

describe.each(['claude', 'codex'] as const)('a run of %s', (name) => {
  it('makes one inference, with its pieces and its calls as they come', async () => {
    const call = recordingCall();
    const steps = [{ think: 'hm' }, { say: 'Let me see.' }, { call: [['count', { path: '.' }]] }, { sayAnswers: 1 }];
    const outcome = await infer(await driver(name), [user(doing(...steps))], call);
    expect(call.seen.toSorted()).toEqual(
      ['thinking hm', 'text Let me see.', 'call count {"path":"."}', 'text \n\n42'].toSorted(),
    );
    expect(call.seen.at(-1)).toBe('text \n\n42');
    expect(outcome).toEqual({
      kind: 'response',
      response: {
        content: [{ type: 'text', text: '42' }],
        stopReason: 'end_turn',
        usage: { inputTokens: name === 'claude' ? 21 : 20, outputTokens: 10, cacheReadTokens: 1 },
        continuationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
    expect(started).toHaveLength(1);
    expect(await started[0]?.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });

  it('has the key and the token in its environment, neither in its words, and its key in no failure', async () => {
    const { args, env, cwd, tools } = JSON.parse(replyOf(await run(await driver(name), { sayStart: 1 }))) as {
      args: string[];
      env: Record<string, string>;
      cwd: string;
      tools: string[];
    };
    expect([env['SVC_MCP_TOKEN'], env[name === 'claude' ? 'ANTHROPIC_API_KEY' : 'CODEX_API_KEY']]).toEqual([
      token,
      'sk-live-1',
    ]);
    expect(args[0]).toBe('--from-the-manifest');
    expect(args.filter((word) => word.includes(token) || word.includes('sk-live-1'))).toEqual([]);
    expect({ cwd, tools }).toEqual({ cwd: folder, tools: ['count'] });
    expect(await run(await driver(name), { complain: 'sk-live-1 is no key' }, { exit: 4 })).toEqual({
      kind: 'failed',
      error: `${name} exited with status 4 before its response: [secret] is no key`,
    });
  });

  it('finds nothing at the address of its tools once it is over', async () => {
    const one = await driver(name);
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp\/name-1/.exec(replyOf(await run(one, { sayStart: 1 })))?.[0] ?? '';
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(404);
    await one.close();
    await expect(fetch(url, { method: 'POST', headers, body: '{}' })).rejects.toThrow('fetch failed');
  });

  it('goes on with the conversation that the program remembers, as long as its history only grew', async () => {
    const one = await driver(name);
    const first = doing({ say: 'One.' });
    const second = doing({ sayPrompts: 1 });
    await infer(one, [user(first)]);
    const history = [user(first), assistant('One.'), user(second)];
    expect(replyOf(await infer(one, history))).toBe(JSON.stringify([first, second]));
    const changed = [user('in short'), assistant('One.'), user(second)];
    const transcript = `[user]\nin short\n\n[assistant]\nOne.\n\n[end of what was said so far]\n\nIt goes on with:\n\n${second}`;
    expect(JSON.parse(replyOf(await infer(one, changed)))).toEqual([expect.stringContaining(transcript)]);
    expect(JSON.parse(replyOf(await infer(await driver(name), history)))).toEqual([expect.stringContaining('[user]')]);
  });

  it('gets the whole history when the program has lost the conversation', async () => {
    const one = await driver(name);
    const first = doing({ say: 'One.' });
    const second = doing({ sayPrompts: 1 });
    await infer(one, [user(first)]);
    rmSync(join(folder, '.stand-in'), { recursive: true });
    const reply = replyOf(await infer(one, [user(first), assistant('One.'), user(second)]));
    expect(JSON.parse(reply)).toEqual([expect.stringContaining(`[user]\n${first}\n\n[assistant]\nOne.`)]);
    expect(started).toHaveLength(3);
  });

  it('runs each call once when it goes on with a conversation, calls something and dies', async () => {
    const one = await driver(name);
    const first = doing({ say: 'One.' });
    await infer(one, [user(first)]);
    const call = recordingCall();
    const second = doing({ call: [['count', {}]] }, { exit: 3 });
    expect((await infer(one, [user(first), assistant('One.'), user(second)], call)).kind).toBe('failed');
    expect(call.seen).toEqual(['call count {}']);
  });

  it('may flood its stderr, and may stay after its result for a while', async () => {
    const steps = [{ flood: 50 * 1024 * 1024 }, { say: 'Survived.' }, { stay: 1 }];
    expect(replyOf(await run(await driver(name, {}, 100), ...steps))).toBe('Survived.');
    expect(await started[0]?.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
  });

  it('counts when it exits with a status behind its result', async () => {
    expect(replyOf(await run(await driver(name), { say: 'Done.' }, { endEarly: 1 }, { exit: 1 }))).toBe('Done.');
  });

  it.each<[string, readonly StandInStep[], DriverOutcome]>([
    [
      'half a line and no more',
      [{ raw: '{"type":"resu' }, { exit: 0 }],
      { kind: 'failed', error: 'exited with status 0 in the middle of a line, before its response' },
    ],
    ['no result', [{ say: 'Hm.' }, { exit: 0 }], { kind: 'failed', error: 'exited with status 0 before its response' }],
    [
      'a line that is not JSON',
      [{ raw: 'Segmentation fault\n' }, { hang: 1 }],
      { kind: 'malformed', error: 'wrote a line that is not JSON: "Segmentation fault"' },
    ],
    [
      'JSON of another shape',
      [{ raw: '{"kind":"x"}\n' }, { hang: 1 }],
      { kind: 'failed', error: 'wrote a line of another shape: type must be text' },
    ],
    [
      'a line of 17 MiB',
      [{ longLine: 17 * 1024 * 1024 }, { hang: 1 }],
      { kind: 'failed', error: 'wrote a line of more than 16777216 bytes' },
    ],
  ])('fails the inference with %s', async (_, steps, outcome) => {
    const expected = outcome.kind === 'response' ? outcome : { ...outcome, error: `${name} ${outcome.error}` };
    expect(await run(await driver(name), ...steps)).toEqual(expected);
    nobodyRuns();
  });

  it('passes over what it says of no known type', async () => {
    expect(replyOf(await run(await driver(name), { raw: '{"type":"weather"}\n\n' }, { say: 'Fine.' }))).toBe('Fine.');
  });

  it('cannot be called when it is not there', async () => {
    const missing = await driver(name);
    rmSync(join(folder, 'bin'), { recursive: true });
    expect(await run(missing)).toEqual({ kind: 'unavailable', error: `${name} could not be started: no such command` });
  });

  it('ends with a cancel in the middle of a call, which is broken off', async () => {
    const cancel = new AbortController();
    let begun = (): void => {};
    const calling = new Promise<void>((resolve) => (begun = resolve));
    const canceled = new Error('task canceled');
    const call = recordingCall({
      signal: cancel.signal,
      callTool: () =>
        new Promise((_, reject) => {
          begun();
          cancel.signal.addEventListener('abort', () => reject(canceled));
        }),
    });
    const task = (await driver(name)).openTask();
    const outcome = task.infer(request(user(doing({ call: [['count', {}]] }))), call);
    const [ended] = await Promise.allSettled([outcome, calling.then(() => cancel.abort(canceled))]);
    expect(ended).toEqual({ status: 'rejected', reason: canceled });
    await task.close();
    nobodyRuns();
  });

  it('never begins after a cancel, and ends with its driver', async () => {
    const call = recordingCall({ signal: AbortSignal.abort(new Error('task canceled')) });
    const one = await driver(name);
    expect((await infer(one, [user(doing({ say: 'x' }))], call)).kind).toBe('failed');
    expect(call.seen).toEqual([]);
    const working = recordingCall();
    const pending = infer(one, [user(doing({ say: 'Working.' }, { hang: 1 }))], working);
    await expect.poll(() => working.seen, { timeout: 20_000 }).toEqual(['text Working.']);
    await one.close();
    expect(await pending).toEqual({ kind: 'failed', error: 'the task is over' });
    nobodyRuns();
  });

  it('waits with its end for a call that a dead program left behind, which is not answered', async () => {
    const order: string[] = [];
    let finish = (): void => {};
    const call = recordingCall({
      callTool: async () => {
        started[0]?.kill('SIGKILL');
        await new Promise<void>((resolve) => (finish = resolve));
        order.push('called');
        return { content: '42', isError: false };
      },
    });
    const outcome = infer(await driver(name), [user(doing({ call: [['count', {}]] }))], call).then((ended) => {
      order.push('ended');
      return ended;
    });
    await expect.poll(() => started.length, { timeout: 20_000 }).toBe(1);
    expect(await started[0]?.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
    finish();
    expect(await outcome).toEqual({ kind: 'failed', error: `${name} was ended by SIGKILL before its response` });
    expect(order).toEqual(['called', 'ended']);
  });

  it('takes what breaks a call off for the end of the task', async () => {
    const reason = new Error('the trace cannot be written');
    const call = recordingCall({ callTool: () => Promise.reject(reason) });
    await expect(infer(await driver(name), [user(doing({ call: [['count', {}]] }, { hang: 1 }))], call)).rejects.toBe(
      reason,
    );
    nobodyRuns();
  });

  it('says what to do about a missing login or a missing network', async () => {
    const [variables, key] =
      name === 'claude'
        ? ['ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN', 'Invalid API key']
        : ['CODEX_API_KEY or CODEX_HOME', '401 Unauthorized'];
    expect(await run(await driver(name), { complain: key }, { exit: 1 })).toEqual({
      kind: 'failed',
      error: `${name} exited with status 1 before its response: ${key}; set inference.api_key, or list ${variables} in capabilities.env.allow`,
    });
    const refused =
      'Failed to authenticate: https://a.example is refused: capabilities.network.allow does not name it.';
    expect(await run(await driver(name), { complain: refused }, { exit: 1 })).toMatchObject({
      error: `${name} exited with status 1 before its response: ${refused}`,
    });
    expect(await run(await driver(name, { hasNetwork: false }), { exit: 1 })).toEqual({
      kind: 'failed',
      error: `${name} exited with status 1 before its response; capabilities.network.allow names no host at which ${name} reaches its model`,
    });
  });
});

describe('inference.max_turns', () => {
  const calls = (count: number): readonly StandInStep[] =>
    Array.from({ length: count }, () => ({ call: [['count', {}]] }));

  it('stops claude by its own count', async () => {
    expect(await run(await driver('claude', { maxTurns: 2 }), ...calls(3))).toMatchObject({
      response: {
        stopReason: 'error',
        error: 'claude used up inference.max_turns: Reached maximum number of turns (2)',
      },
    });
  });

  it('limits the calls that codex gets an answer to', async () => {
    const call = recordingCall();
    const outcome = await infer(
      await driver('codex', { maxTurns: 1 }),
      [user(doing(...calls(2), { sayAnswers: 1 }))],
      call,
    );
    expect(replyOf(outcome)).toBe(
      '42\nfailed: not carried out: the 1 turns of this task are used up. Answer with what is known.',
    );
    expect(call.seen.filter((line) => line.startsWith('call'))).toHaveLength(1);
    expect(await run(await driver('codex', { maxTurns: 1 }), ...calls(3), { hang: 1 })).toEqual({
      kind: 'failed',
      error: 'codex goes on although inference.max_turns is used up',
    });
  });
});

it('the driver ends a program that goes on calling while 64 of its calls wait', async () => {
  const burst: StandInStep = { call: Array.from({ length: 130 }, () => ['count', {}]) };
  const call = recordingCall({
    callTool: async () => {
      await started[0]?.ended;
      return { content: '42', isError: false };
    },
  });
  expect(await infer(await driver('claude'), [user(doing(burst))], call)).toEqual({
    kind: 'failed',
    error: 'claude goes on although too many of its calls wait',
  });
});

it('the driver lets a program call several tools at once, one carried out after the other', async () => {
  let running = 0;
  const most: number[] = [];
  const call = recordingCall({
    callTool: async ({ input }) => {
      most.push((running += 1));
      await new Promise(setImmediate);
      running -= 1;
      return { content: JSON.stringify(input), isError: false };
    },
  });
  const both = {
    call: [
      ['count', { n: 1 }],
      ['count', { n: 2 }],
    ],
  };
  const outcome = await infer(await driver('claude'), [user(doing(both, { sayAnswers: 1 }))], call);
  expect(replyOf(outcome).split('\n').toSorted()).toEqual(['{"n":1}', '{"n":2}']);
  expect(most).toEqual([1, 1]);
});

it('the driver offers no server without a tool', async () => {
  const task = (await driver('codex')).openTask();
  const none = { ...request(user(doing({ sayStart: 1 }))), tools: [] };
  const { args } = JSON.parse(replyOf(await task.infer(none, recordingCall()))) as { args: string[] };
  await task.close();
  expect(args.filter((word) => word.includes('mcp_servers'))).toEqual([]);
});
