import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import { launchedServer } from '../../src/tools/mcp/launched-server.ts';
import { ToolServer } from '../../src/tools/mcp/tool-server.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';

const oddServer = fileURLToPath(new URL('../../../../test/support/odd-server.mjs', import.meta.url));

let folder: string;
let server: ToolServer;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-mcp-'));
});

afterEach(async () => {
  await server.close();
  cutBefore = (text) => text;
  rmSync(folder, { recursive: true, force: true });
});

interface Odd {
  /** Names of what it lists. */
  readonly tools?: readonly string[];
  readonly pages?: readonly (readonly string[])[];
  readonly habits?: readonly string[];
  readonly deadlineMs?: number;
}

const listed = (names: readonly string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' } }));

/** Takes away nothing, until a test says otherwise. */
let cutBefore = (text: string): string => text;

/** The odd server as its file says it is, started as a process by the launcher that contains nothing. */
function odd({ tools = [], pages, habits = [], deadlineMs = 30_000 }: Odd): ToolServer {
  const behaviour = join(folder, 'behaviour.json');
  const own = { tools: listed(tools), habits, log: join(folder, 'log') };
  writeFileSync(behaviour, JSON.stringify(pages === undefined ? own : { ...own, pages: pages.map(listed) }));
  server = new ToolServer(
    {
      name: 'odd',
      place: launchedServer({
        launcher: createDirectLauncher({ cwd: folder, drainMs: 100 }),
        command: process.execPath,
        args: [oddServer, behaviour],
        env: { PATH: '/usr/bin:/bin' },
        endGraceMs: 300,
      }),
      deadlineMs,
      sessionDirectory: folder,
      logs: new LogBudget(),
      cutBefore,
      version: '0.0.0',
      clock: { monotonicMs: () => 0 },
      onChange: () => {},
    },
    null,
  );
  return server;
}

/** What the server was asked, as it noted it down. */
function asked(): readonly string[] {
  return readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n');
}

async function call(tool: string, args = {}): Promise<ToolOutcome> {
  return await server.call({ tool, args, signal: new AbortController().signal });
}

async function names(): Promise<readonly string[]> {
  const offered = await server.offered();
  if (offered.kind !== 'answered') throw new Error(offered.reason);
  return offered.value.tools.map(({ name }) => name);
}

async function refusal(): Promise<string> {
  const offered = await server.offered();
  if (offered.kind === 'answered') throw new Error('it answered');
  return offered.reason;
}

describe('a server that is asked for its tools', () => {
  it('may list them in pages', async () => {
    odd({ pages: [['a', 'b'], [], ['c']] });
    expect(await names()).toEqual(['a', 'b', 'c']);
    expect(asked()).toEqual(['initialize', 'notifications/initialized {}', 'tools/list', 'tools/list', 'tools/list']);
  });

  it('offers 128 of 10,000', async () => {
    odd({ tools: Array.from({ length: 10_000 }, (_, index) => `t${index}`) });
    expect((await names()).length).toBe(128);
  });

  it('may greet on its standard output', async () => {
    odd({ tools: ['echo'], habits: ['greets'] });
    expect(await names()).toEqual(['echo']);
  });

  it('stops after 64 pages', async () => {
    odd({ habits: ['endless pages'] });
    expect(await refusal()).toBe('lists more than 10000 tools, or in more than 64 pages');
    expect(asked().filter((method) => method === 'tools/list')).toHaveLength(64);
  });

  it('times out when it never answers', async () => {
    odd({ habits: ['never answers', 'greets'], deadlineMs: 500 });
    expect(await refusal()).toBe(
      'did not answer within 0.5 s\nlines of its standard output were no messages, the first: "odd server 1.0 ready"',
    );
  });

  it('fails when it ends, with its last words', async () => {
    odd({ habits: ['exits'] });
    expect(await refusal()).toBe('exited with status 7\nits last words on stderr:\nno licence\n  at line 2');
  });

  it('fails when it speaks an unknown version of the protocol', async () => {
    odd({ habits: ['old version'] });
    expect(await refusal()).toBe(
      'speaks the version "1999-01-01" of the protocol, and not one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07',
    );
  });
});

describe('a call', () => {
  const tools =
    'echo pid die silent huge long odd fails refuses nothing null word erring garbage flood chatty bulk stderr deep asks'.split(
      ' ',
    );

  it('gets its answer, and the server stays for the next', async () => {
    odd({ tools });
    expect(await call('echo', { text: 'ä', list: [1] })).toEqual({
      status: 'passed',
      content: '{"text":"ä","list":[1]}',
      exitCode: null,
      truncated: false,
    });
    const first = await call('pid');
    expect(await call('pid')).toEqual(first);
  });

  it('has failed when its result says so', async () => {
    odd({ tools });
    expect(await call('fails')).toEqual({ status: 'failed', content: 'not there', exitCode: null, truncated: false });
  });

  it.each([
    ['refuses', 'the server of odd answered with error -32602: no such thing'],
    ['nothing', 'the server of odd answered what cannot be used: it held neither a result nor an error'],
    ['null', 'the server of odd answered what cannot be used: it held neither a result nor an error'],
    ['word', 'the server of odd answered what cannot be used: its result is no object'],
    ['erring', 'the server of odd answered with an error: no'],
    ['die', 'the server of odd exited with status 3\nits last words on stderr:\nout of luck'],
    ['huge', 'the server of odd wrote a message of more than 16777216 bytes'],
    [
      'garbage',
      'the server of odd wrote more than 100 lines that are not messages\n' +
        'lines of its standard output were no messages, the first: "half a line of {"json"',
    ],
    ['flood', 'the server of odd sent more than 10000 messages that nobody asked for'],
    ['bulk', 'the server of odd wrote more than 67108864 bytes that nobody asked for'],
  ])('fails with %s, and the next one succeeds', async (tool, content) => {
    odd({ tools });
    expect(await call(tool)).toEqual({
      status: 'failed',
      content,
      exitCode: null,
      truncated: false,
    });
    expect((await call('echo')).content).toBe('{}');
  });

  it('succeeds with a server that talks much at each, for as many calls as there are', async () => {
    odd({ tools });
    const first = await call('chatty');
    expect(first.status).toBe('passed');
    expect(await call('chatty')).toEqual(first);
  });

  it('fails when its result is of another shape', async () => {
    odd({ tools });
    const { status, content } = await call('odd');
    expect(status).toBe('failed');
    expect(content).toMatch(/^the server of odd answered tools\/call with what cannot be used: /);
  });

  it('passes over what is nested too deeply', async () => {
    odd({ tools });
    expect((await call('deep')).content).toBe('up again');
  });

  it('succeeds with a server that floods its standard error', async () => {
    odd({ tools });
    expect((await call('stderr')).content).toBe('still here');
  });

  it('fails at the deadline without an answer, and the next one has another server', async () => {
    odd({ tools, deadlineMs: 3000 });
    const first = (await call('pid')).content;
    expect((await call('silent')).content).toBe('the server of odd did not answer within 3 s');
    expect((await call('pid')).content).not.toBe(first);
  });

  it('lets the server ask for a sign of life only', async () => {
    odd({ tools });
    expect((await call('asks')).content).toBe(
      'sampling/createMessage: -32601\nelicitation/create: -32601\nroots/list: -32601\nping: {}',
    );
  });

  it('shows 64 KiB of a long answer and keeps the whole', async () => {
    odd({ tools });
    const { content, truncated } = await call('long');
    expect(truncated).toBe(true);
    expect(content).toBe(
      `${'y'.repeat(64 * 1024)}\n[139264 more bytes are not shown; the whole is kept in logs/mcp-1-odd__long.log, out of reach of tools: ask for less at a time, where the tool can]`,
    );
    expect(readFileSync(join(folder, 'logs', 'mcp-1-odd__long.log'), 'utf8')).toBe('y'.repeat(200 * 1024));
  });

  it('shows nothing of a secret that the cut of a long answer would split', async () => {
    cutBefore = (text) => text.slice(0, -16);
    odd({ tools });
    expect((await call('long')).content).toBe(
      `${'y'.repeat(64 * 1024 - 16)}\n[139280 more bytes are not shown; the whole is kept in logs/mcp-1-odd__long.log, out of reach of tools: ask for less at a time, where the tool can]`,
    );
  });
});

describe('the end of a session', () => {
  const alive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  it('ends a server by closing its input', async () => {
    odd({ tools: ['pid'] });
    const pid = Number((await call('pid')).content);
    expect(alive(pid)).toBe(true);
    await server.close();
    expect(alive(pid)).toBe(false);
    expect(asked().at(-1)).toBe('end of input');
  });

  it('ends a server that heeds neither that nor a signal', async () => {
    odd({ tools: ['pid'], habits: ['stays'] });
    const pid = Number((await call('pid')).content);
    await server.close();
    expect(alive(pid)).toBe(false);
  });
});
