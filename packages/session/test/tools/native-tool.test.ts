import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { createNativeTool } from '../../src/tools/native-tool.ts';
import type { ToolCallContext, ToolOutcome } from '../../src/tools/tool.ts';
import { recordingContext } from './tool-context.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;

eachFolder('svc-native-', (made) => {
  folder = made;
});

interface Run {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly context?: ToolCallContext;
  readonly deadlineMs?: number;
}

/** Calls a native tool that is the given shell script. */
function run(script: string, { args = {}, context = recordingContext(), deadlineMs = 20_000 }: Run = {}) {
  const program = join(folder, 'native');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const tool = createNativeTool({
    name: 'odd',
    description: 'an odd tool',
    inputSchema: { type: 'object' },
    launcher: createDirectLauncher({ cwd: folder, drainMs: 100 }),
    program,
    env: { PATH: '/usr/bin:/bin', GREETING: 'hello' },
    deadlineMs,
  });
  return tool.call(args, context);
}

function nested(levels: number): string {
  return `echo '{"status":"passed","content":"x","more":${'['.repeat(levels)}${']'.repeat(levels)}}'`;
}

function failed(content: string, exitCode: number | null): ToolOutcome {
  return { status: 'failed', content, exitCode, truncated: false };
}

describe('a native tool', () => {
  it('reads its arguments as JSON and answers with JSON', async () => {
    const outcome = await run(`printf '{"status":"passed","content":"%s","truncated":true}' "$(base64 -w0)"`, {
      args: { path: 'ä', list: [1] },
    });
    expect({ ...outcome, content: Buffer.from(outcome.content, 'base64').toString() }).toEqual({
      status: 'passed',
      content: '{"arguments":{"path":"ä","list":[1]},"call_id":"call_1"}\n',
      exitCode: 0,
      truncated: true,
    });
  });

  it('learns that the provider gave no call id', async () => {
    const outcome = await run(`printf '{"status":"passed","content":"%s"}' "$(base64 -w0)"`, {
      context: recordingContext({ callId: null }),
    });
    expect(Buffer.from(outcome.content, 'base64').toString()).toBe('{"arguments":{},"call_id":null}\n');
  });

  it('may fail and may exit with any status', async () => {
    expect(await run(`echo '{"status":"failed","content":"not there"}'; exit 5`)).toEqual(failed('not there', 5));
  });

  it('may begin its answer with a byte order mark', async () => {
    const answer = String.raw`printf '\357\273\277{"status":"passed","content":"x"}'`;
    expect(await run(answer)).toMatchObject({ status: 'passed', content: 'x' });
  });

  boundedReadContract('its caller', {
    maxBytes: 16 * 1024 * 1024,
    content: (bytes) => '{"status":"passed","content":"x"}'.padEnd(bytes),
    read: async (pieces) => {
      pieces.forEach((piece, index) => writeFileSync(join(folder, `piece-${index}`), piece));
      const { status, content } = await run(pieces.map((_, index) => `cat piece-${index}`).join('\n'));
      if (status === 'passed') return Buffer.concat(pieces).toString();
      return content.includes('answered more than 16777216 bytes') ? null : content;
    },
  });

  it('may leave its input unread', async () => {
    const args = { text: 'x'.repeat(5_000_000) };
    expect(await run(`echo '{"status":"passed","content":"$PWD"}'`, { args })).toMatchObject({ status: 'passed' });
  });

  it.each([
    ['text', 'echo hello'],
    ['nothing', ':'],
    ['half an object', `printf '{"status":"pas'`],
    ['an object of another shape', `echo '{"status":"ok","content":"x"}'`],
    ['two objects', `echo '{"status":"passed","content":"x"}{"status":"passed","content":"x"}'`],
    ['a number', 'echo 7'],
    ['bytes that are no text', String.raw`printf '{"status":"passed","content":"\377"}'`],
    ['an object that nests deeper than anything is walked', nested(1000)],
    [
      'an object of more values than there is use for',
      `echo '{"status":"passed","content":"x","more":[${'0,'.repeat(40_000)}0]}'`,
    ],
  ])('has failed when it answers %s', async (_, script) => {
    expect(await run(script)).toEqual(
      failed('the tool odd did not answer with the JSON object of a tool result (exit code 0)', 0),
    );
  });

  it('shows its stderr when it fails', async () => {
    expect(await run('echo first >&2; echo cannot open >&2; exit 2')).toEqual(
      failed(
        'the tool odd did not answer with the JSON object of a tool result (exit code 2)\n' +
          'its last words on stderr:\nfirst\ncannot open',
        2,
      ),
    );
    const flood = await run('yes flood | head -c 5000000 >&2; kill -9 $$');
    expect(flood.content).toContain('(ended by signal SIGKILL)');
    expect(flood.content.length).toBeLessThan(5000);
    expect(flood.content).toMatch(/its last words on stderr:\n…[flod]*\nflood\n/);
    expect(flood.exitCode).toBeNull();
  });

  it('ends when it answers without end', async () => {
    const outcome = await run('exec yes');
    expect(outcome.content).toContain('the tool odd answered more than 16777216 bytes');
    expect(outcome.status).toBe('failed');
  });

  it('ends at its deadline', async () => {
    const outcome = await run('sleep 60', { deadlineMs: 50 });
    expect(outcome).toEqual(failed('the tool odd did not end within 0.05 s (ended by signal SIGTERM)', null));
  });

  it('rejects with the reason of a cancel', async () => {
    const reason = new Error('task canceled');
    const cancel = new AbortController();
    const call = run('sleep 60', { context: recordingContext({ signal: cancel.signal }) });
    setImmediate(() => {
      cancel.abort(reason);
    });
    await expect(call).rejects.toBe(reason);
  });

  it('never reaches a program that cannot be started', async () => {
    const tool = createNativeTool({
      name: 'odd',
      description: '',
      inputSchema: {},
      launcher: createDirectLauncher({ cwd: folder }),
      program: join(folder, 'absent'),
      env: {},
      deadlineMs: 1000,
    });
    expect(await tool.call({}, recordingContext())).toEqual({
      ...failed('the tool odd could not be started: no such command', null),
      reached: false,
    });
  });
});
