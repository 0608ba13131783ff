import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import { LogBudget } from '@svc/kit/log-budget.ts';
import { type PinnedTool, pinnedTools } from '@svc/session/tools/mcp/pinned-tools.ts';
import { listedAt, remoteServer, type RemoteServer } from '@svc/session/tools/mcp/remote-server.ts';
import { ToolServer } from '@svc/session/tools/mcp/tool-server.ts';
import type { InputAnswer, ToolOutcome } from '@svc/session/tools/tool.ts';
import { ownGoProgram } from '../support/go-program.ts';
import { installedPython } from '../support/python-program.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures');

/** The command of a server; the test is skipped where it cannot be made. */
type Made = (context: TestContext) => Promise<readonly [string, ...string[]]> | readonly [string, ...string[]];

function python(version: string): Made {
  return async (context) => [await installedPython(context, `mcp==${version}`), join(fixtures, 'remote-server.py')];
}

function go(context: TestContext): readonly [string] {
  const { path, missing } = ownGoProgram(join(fixtures, 'remote-go'));
  return path === null ? context.skip(missing) : [path];
}

interface OfficialServer {
  readonly tools: readonly PinnedTool[];
  /** The lines that it has printed. */
  readonly said: readonly string[];
  readonly call: (
    tool: string,
    args?: object,
    more?: { readonly signal?: AbortSignal; readonly ask?: (prompt: string) => Promise<InputAnswer> },
  ) => Promise<ToolOutcome>;
}

async function started([command, ...args]: readonly [string, ...string[]]): Promise<OfficialServer> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (line) => void said.push(line));
  await once(lines, 'line');
  const place: RemoteServer = { url: new URL(said[0] ?? ''), allow: [], proxyFor: null, headers: {} };
  const signal = new AbortController().signal;
  const answer = await listedAt(place, { version: '1', timeoutMs: 60_000, signal });
  if (answer.kind === 'failed') throw new Error(answer.reason);
  const tools = pinnedTools(answer.value.tools);
  const server = new ToolServer(
    {
      name: 'tables',
      place: remoteServer(place),
      pinned: tools,
      deadlineMs: 60_000,
      sessionDirectory: '/nowhere',
      logs: new LogBudget(),
      cutBefore: (text) => text,
      version: '1',
      clock: { monotonicMs: () => 0 },
      onChange: () => {},
    },
    { tools: [], leftOut: [] },
  );
  onTestFinished(() => server.close());
  return {
    tools,
    said,
    call: async (tool, args = {}, more = {}) => await server.call({ tool, args: { ...args }, signal, ...more }),
  };
}

/** mcp 1.30.0 speaks no revision above 2025-11-25. */
describe.each<{ readonly library: string; readonly made: Made }>([
  { library: 'mcp 2.3.0 for Python', made: python('2.3.0') },
  { library: 'mcp 1.30.0 for Python', made: python('1.30.0') },
  { library: 'go-sdk v1.8.0 for Go', made: go },
])('a server on the web by $library', ({ made }) => {
  it('lists its tools, answers calls, asks, and hears of a call that is canceled', async (context) => {
    const { tools, said, call } = await started(await made(context));
    expect(tools.map(({ name }) => name).toSorted()).toEqual(['add', 'big', 'book', 'fails', 'picture', 'slow']);

    const sum = await call('add', { a: 2, b: 3 });
    expect({ status: sum.status, sum: JSON.parse(sum.content) as unknown }).toEqual({
      status: 'passed',
      sum: { total: 5 },
    });
    expect(await call('picture')).toMatchObject({
      status: 'passed',
      content: expect.stringContaining('image/png') as string,
    });
    expect(await call('fails')).toMatchObject({
      status: 'failed',
      content: expect.stringContaining('Error executing tool fails') as string,
    });
    expect(await call('big')).toMatchObject({
      status: 'failed',
      content: 'the server of tables sent more than 16777216 bytes in one answer',
    });

    const prompts: string[] = [];
    const ask = async (prompt: string): Promise<InputAnswer> => {
      prompts.push(prompt);
      return await Promise.resolve({ kind: 'answered', text: '4' });
    };
    expect(await call('book', {}, { ask })).toMatchObject({
      status: 'passed',
      content: expect.stringMatching(/^accept 4$/m) as string,
    });
    expect(prompts).toEqual([
      'the server of tables asks: How many?\nGive no password or key here.\nSeats: a whole number; an empty answer declines.',
    ]);

    const leaving = new AbortController();
    const slow = call('slow', {}, { signal: leaving.signal });
    await expect.poll(() => said, { timeout: 60_000 }).toContain('slow began');
    leaving.abort(new Error('canceled'));
    await expect(slow).rejects.toThrow('canceled');
    await expect.poll(() => said, { timeout: 60_000 }).toContain('slow was canceled');
    expect(await call('add', { a: 1, b: 1 })).toMatchObject({ status: 'passed' });
  }, 300_000);
});
