import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';

import { FakeLauncher, FakeProcess } from '../../../../../test/support/fake-launcher.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { launchedServer } from './launched-server.ts';
import { ToolServer } from './tool-server.ts';

const listed = { tools: [{ name: 'echo', description: '', inputSchema: { type: 'object' } }], leftOut: [] };
const wellMeant = {
  initialize: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'fake', version: '1' } },
  'tools/list': { tools: listed.tools },
  'tools/call': { content: [{ type: 'text', text: 'hi' }] },
} as const;

/** Long answers are kept there. */
const sessionDirectory = mkdtempSync(join(tmpdir(), 'svc-odd-'));
afterAll(() => rmSync(sessionDirectory, { recursive: true }));

type Method = keyof typeof wellMeant;

/** What may be wrong with an answer: any value, or a well-meant one with any value as a part. */
function answersTo(method: Method): fc.Arbitrary<unknown> {
  const keys = Object.keys(wellMeant[method]);
  const spoilt = fc
    .tuple(
      fc.constantFrom(...keys, '_meta', 'resultType', 'nextCursor', 'isError', 'structuredContent'),
      fc.jsonValue(),
    )
    .map(([key, value]) => Object.fromEntries([...Object.entries(wellMeant[method]), [key, value]]));
  return fc.oneof(fc.jsonValue(), spoilt);
}

/** The server answers one method with what it is given, and the others as it should. */
function serverThat(method: Method, answer: object, deadlineMs = 30): ToolServer {
  const launcher = new FakeLauncher(
    () =>
      new FakeProcess(({ id, method: asked }, process) => {
        if (id === undefined || !(String(asked) in wellMeant)) return;
        process.write(asked === method ? { id, ...answer } : { id, result: wellMeant[asked as Method] });
      }),
  );
  const common = {
    name: 'odd',
    deadlineMs,
    sessionDirectory,
    logs: new LogBudget(),
    cutBefore: (text: string) => text,
    version: '1',
  };
  const clock = { monotonicMs: () => 0 };
  const place = launchedServer({ launcher, command: '/opt/server', args: [], env: {}, endGraceMs: 5 });
  return new ToolServer({ ...common, clock, place, onChange: () => {} }, listed);
}

it.each(['initialize', 'tools/list', 'tools/call'] as const)(
  'any answer to %s is an outcome of the call, and no error of ours',
  async (method) => {
    const answer = fc.oneof(
      answersTo(method).map((result) => ({ result })),
      fc.jsonValue().map((error) => ({ error })),
      fc.record({ code: fc.integer(), message: fc.string(), data: fc.jsonValue() }).map((error) => ({ error })),
    );
    await fc.assert(
      fc.asyncProperty(answer, async (given) => {
        const server = serverThat(method, given);
        const outcome = await server.call({ tool: 'echo', args: {}, signal: new AbortController().signal });
        expect(['passed', 'failed']).toContain(outcome.status);
        await server.close();
      }),
      { numRuns: 150 },
    );
  },
  60_000,
);

it('a list of hundreds of thousands of tools is a failed call', async () => {
  const server = serverThat('tools/list', { result: { tools: Array.from({ length: 250_000 }, () => 0) } }, 30_000);
  const outcome = await server.call({ tool: 'echo', args: {}, signal: new AbortController().signal });
  expect(outcome).toMatchObject({
    status: 'failed',
    content: 'the server of odd lists more than 10000 tools, or in more than 64 pages',
  });
  await server.close();
});

it('a list whose pages hold more than 16 MiB together is a failed call', async () => {
  const tool = { name: 'echo', description: 'e'.repeat(3 * 1024 * 1024), inputSchema: { type: 'object' } };
  let page = 0;
  const answer = {
    get result(): object {
      page += 1;
      return { tools: [tool], nextCursor: String(page) };
    },
  };
  const server = serverThat('tools/list', answer, 30_000);
  const outcome = await server.call({ tool: 'echo', args: {}, signal: new AbortController().signal });
  expect(outcome).toMatchObject({ status: 'failed', content: 'the server of odd lists tools of more than 16 MiB' });
  await server.close();
});

it('ToolServer looks at a thousand blocks of a result of hundreds of thousands', async () => {
  const content = Array.from({ length: 250_000 }, () => 0);
  const server = serverThat('tools/call', { result: { content } }, 30_000);
  const outcome = await server.call({ tool: 'echo', args: {}, signal: new AbortController().signal });
  expect(outcome.status).toBe('passed');
  expect(outcome.content.split('\n').slice(-2)).toEqual([
    '[content of a kind that is not known]',
    '[249000 more blocks of content: not shown]',
  ]);
  await server.close();
});
