/** Plays what an MCP server sent to the client of the servers of artifacts, over the standard streams of a process. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import { LogBudget } from '@svc/kit/log-budget.ts';
import { launchedServer } from '@svc/session/tools/mcp/launched-server.ts';
import { ToolServer } from '@svc/session/tools/mcp/tool-server.ts';
import { FakeLauncher, FakeProcess, type LooseMessage } from '../support/fake-launcher.ts';
import { each, origin } from './read-wall.ts';

const text = z.string();

const sent = z.union([
  /** As it stands; `$id` is the id of the request, `$lines` a hundred lines. */
  text,
  z.strictObject({ stderr: text }),
  z.strictObject({ exit: z.int() }),
  /** It closes its output and lives. */
  z.strictObject({ closes: z.literal('stdout') }),
  /** A message, an answer unless it has a method; `jsonrpc` and `id` are added where they are missing, and `$many` is a text of 5,000 letters. */
  z.record(text, z.unknown()),
]);

/** What is written for one method: for each of its requests the same, or a list each, of which the last comes again. */
const sends = z.union([z.array(sent), z.array(z.array(sent))]);

/** What is played under one title. A method that it does not name is answered well: one tool, `echo`, which says hi. */
export const mcpServer = z.strictObject({
  each,
  /** By method; `start` is what it writes unasked. */
  sends: z.record(text, sends),
  seen: z
    .strictObject({
      /** Names of what is offered. */
      tools: z.array(text),
      left_out: z.array(text).optional(),
      /** Why it has no list. */
      absent: text.optional(),
      description: text.optional(),
      schema: z.record(text, z.unknown()).optional(),
      /** What the model reads of a call of the first tool. */
      text: text.optional(),
      again: text.optional(),
    })
    .optional(),
  /** What the model reads of a call that failed; a pattern between slashes. */
  failure: text.optional(),
  /** Why nothing is offered. */
  unusable: text.optional(),
  /** What it hears besides requests of the client. */
  hears: z.array(z.record(text, z.unknown())).optional(),
  /** For one that never answers. */
  deadline_ms: z.int().optional(),
});

/** A file of this folder. */
export const mcpServerFile = z.strictObject({ ...origin, servers: z.record(text, mcpServer) });

type McpServer = z.infer<typeof mcpServer>;
type Sent = z.infer<typeof sent>;

const well: McpServer['sends'] = {
  initialize: [
    {
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'played', version: '1' },
      },
    },
  ],
  'tools/list': [{ result: { tools: [{ name: 'echo', description: 'Says hi.', inputSchema: { type: 'object' } }] } }],
  'tools/call': [{ result: { content: [{ type: 'text', text: 'hi' }] } }],
};

/** What became of a server, in the keys of its file. */
interface Played extends Pick<McpServer, 'seen' | 'failure' | 'unusable'> {
  readonly hears: readonly LooseMessage[];
}

/** Lists the tools of a server and calls the first, twice where `again` is of interest; `cut` says in which pieces its bytes arrive. */
export async function play(given: McpServer, cut: (bytes: Buffer) => readonly Buffer[]): Promise<Played> {
  const launcher = new FakeLauncher(() => processOf({ ...well, ...given.sends }, cut));
  const folder = mkdtempSync(join(tmpdir(), 'svc-wall-'));
  const server = new ToolServer(
    {
      name: 'played',
      place: launchedServer({ launcher, command: '/opt/server', args: [], env: {}, endGraceMs: 5 }),
      deadlineMs: given.deadline_ms ?? 10_000,
      sessionDirectory: folder,
      logs: new LogBudget(),
      cutBefore: (whole) => whole,
      version: '1',
      clock: { monotonicMs: () => 0 },
      onChange: () => {},
    },
    null,
  );
  try {
    const outcome = await outcomeOf(server, given.seen?.again !== undefined);
    const hears = launcher.processes.flatMap(({ received }) => received.filter(({ method }) => method === undefined));
    return { ...outcome, hears };
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

async function outcomeOf(server: ToolServer, isAgain: boolean): Promise<Pick<Played, 'seen' | 'failure' | 'unusable'>> {
  const offered = await server.offered();
  if (offered.kind !== 'answered') return { unusable: offered.reason };
  const { tools, leftOut, absent } = offered.value;
  const [first] = tools;
  const names = tools.map(({ name }) => name);
  if (first === undefined) return { seen: { tools: names, left_out: [...leftOut], absent } };
  const asked = { tool: first.name, args: {}, signal: new AbortController().signal };
  const { status, content } = await server.call(asked);
  const seen = {
    tools: names,
    left_out: [...leftOut],
    absent,
    description: first.description,
    schema: first.inputSchema,
    ...(isAgain ? { again: (await server.call(asked)).content } : {}),
  };
  return status === 'passed' ? { seen: { ...seen, text: content } } : { seen, failure: content };
}

function processOf(script: McpServer['sends'], cut: (bytes: Buffer) => readonly Buffer[]): FakeProcess {
  const counts = new Map<string, number>();
  const write = (process: FakeProcess, method: string, id: unknown): void => {
    const count = counts.get(method) ?? 0;
    counts.set(method, count + 1);
    for (const each of turnOf(script[method] ?? [], count)) sendOne(process, each, { id, cut });
  };
  const process = new FakeProcess(({ method, id }, own) => write(own, String(method), id));
  write(process, 'start', null);
  return process;
}

function turnOf(given: McpServer['sends'][string], count: number): readonly Sent[] {
  const turns = given.filter((each) => Array.isArray(each));
  return turns.length === 0 ? (given as readonly Sent[]) : (turns[count] ?? turns.at(-1) ?? []);
}

function sendOne(
  process: FakeProcess,
  given: Sent,
  { id, cut }: { readonly id: unknown; readonly cut: (bytes: Buffer) => readonly Buffer[] },
): void {
  if (typeof given !== 'string' && 'exit' in given)
    return process.exit({ kind: 'exited', exitCode: Number(given.exit) });
  if (typeof given !== 'string' && 'closes' in given) return void process.stdout.end();
  if (typeof given !== 'string' && 'stderr' in given) return void process.stderr.write(String(given.stderr));
  const line =
    typeof given === 'string'
      ? given.replaceAll('$id', () => JSON.stringify(id)).replaceAll('$lines', () => 'loading\n'.repeat(100))
      : `${JSON.stringify({ jsonrpc: '2.0', ...('method' in given ? {} : { id }), ...given })}\n`;
  for (const piece of cut(Buffer.from(line.replaceAll('$many', () => 'x'.repeat(5000))))) process.stdout.write(piece);
}
