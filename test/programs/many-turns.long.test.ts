import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TirelessProvider } from '@svc/testing/tireless-provider.ts';
import { HeldByTurns } from '../support/held-by-turns.ts';
import { message, rpc, startCapsule, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

/** `npm run test:long -- tests` asks for 2,000. */
const turns = Number(process.env['MANY_TURNS'] ?? '120');
const timeoutMs = 60_000 + turns * 1000;

/**
 * The most of the second half beside the most of the first. Pipes for commands are a pool of 15 to 79, made 64 at a time
 * (`packages/sandbox/src/pipe-pool.ts`): each half has a command in every second turn and so sees the pool full, also the half of the smaller round.
 */
const spare = { pipes: 4, sockets: 2, others: 2, listeners: 12 };
/** Room for the conversation itself, which is held several times over, and for code that is compiled late. */
const spareHeapBytes = 4 * 1024 * 1024 + (turns / 2) * 8 * 1024;
/** Room for a heap that grows when it likes. */
const spareResidentBytes = 48 * 1024 * 1024;

let workspace: Workspace;
let held: HeldByTurns;
const cleanups: (() => void)[] = [];
beforeEach(() => {
  workspace = makeWorkspace({ 'model.mjs': model });
  held = new HeldByTurns(turns, workspace.folder);
});
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
  workspace.remove();
});

const calls = [
  { name: 'svc-tool-editor', arguments: '{"command":"list"}' },
  { name: 'no-such-tool', arguments: '{}' },
];

function manifestOf(inference: string): string {
  return `name: tireless
version: 1.0.0
inference:
  model: tireless
  max_turns: ${turns + 1}
${inference}artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
lifecycle: { task_acceptance: single }
capabilities: { shell: { allow: [sh] } }
`;
}

/** A command in every second turn: each is a process. */
function callsOf(turn: number): readonly { readonly name: string; readonly arguments: string }[] {
  if (turn > turns) return [];
  return turn % 2 === 0 ? [...calls, { name: 'sh', arguments: '{"command":"true"}' }] : calls;
}

async function runTask(onStart: (pid: number) => void): Promise<Pick<SvcEnd, 'code' | 'stderr'>> {
  const { process: capsule, line } = await startCapsule(workspace, [], { env: held.env });
  onStart(line.pid);
  await rpc(line.url, 'message/send', message('Go on.'));
  const { code, stderr } = await capsule.ended;
  return { code, stderr: stderr.replaceAll(/^warning\[W-APR-004\]: .*: tool no-such-tool, .*\n/gm, '') };
}

function expectFlat(): void {
  const { early, late } = held;
  const what = JSON.stringify({ early, late });
  expect(early.listeners, what).toBeGreaterThan(0);
  expect(late.listeners, what).toBeGreaterThan(0);
  for (const key of ['pipes', 'sockets', 'others', 'listeners'] as const) {
    expect(late[key], what).toBeLessThanOrEqual(early[key] + spare[key]);
  }
  expect(late.heapBytes, what).toBeLessThanOrEqual(early.heapBytes + spareHeapBytes);
  expect(late.residentBytes, what).toBeLessThanOrEqual(early.residentBytes + spareResidentBytes);
}

describe(`a task of ${turns} turns`, () => {
  it(
    'over one connection to its model leaves nothing behind, and says only that many calls were refused',
    async () => {
      let pid = 0;
      const connections = new Set<unknown>();
      const provider = await TirelessProvider.start({
        calls: callsOf,
        onTurn: async (turn, connection) => {
          connections.add(connection);
          await held.look(pid, turn);
        },
      });
      cleanups.push(() => provider.close());
      const inference = `  endpoint: ${provider.endpoint}\n  driver: { artifact: svc-driver-openai }\n`;
      workspace.write('svc.yaml', manifestOf(inference));
      expect(await runTask((started) => (pid = started))).toEqual({ code: 0, stderr: '' });
      expect(connections.size).toBe(1);
      expectFlat();
    },
    timeoutMs,
  );

  it(
    'with a program as its model leaves nothing behind, and says only that many calls were refused',
    async () => {
      let pid = 0;
      const stop = answerTurns(workspace.folder, async (turn) => {
        await held.look(pid, turn);
        return JSON.stringify(callsOf(turn));
      });
      const command = [process.execPath, join(workspace.folder, 'model.mjs')];
      const inference = `  transport: process\n  command: ${JSON.stringify(command)}\n`;
      workspace.write('svc.yaml', manifestOf(inference));
      expect(await runTask((started) => (pid = started))).toEqual({ code: 0, stderr: '' });
      await stop();
      expectFlat();
    },
    timeoutMs,
  );
});

/** Answers each turn that the driver has written into this folder, until the returned function is called. */
function answerTurns(folder: string, answer: (turn: number) => Promise<string>): () => Promise<void> {
  const over = new AbortController();
  const answerEach = async (): Promise<void> => {
    for (let turn = 1; ; turn += 1) {
      while (!existsSync(join(folder, `turn-${turn}`))) {
        if (over.signal.aborted) return;
        await setTimeout(2);
      }
      writeFileSync(join(folder, 'answer'), await answer(turn));
      renameSync(join(folder, 'answer'), join(folder, `calls-${turn}`));
    }
  };
  const answered = answerEach();
  return async () => {
    over.abort();
    await answered;
  };
}

/** A driver that the test controls: it calls in each turn what the test says. */
const model = `import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const here = new URL('.', import.meta.url).pathname;
let turn = 0;
for await (const _ of createInterface({ input: process.stdin })) {
  turn += 1;
  writeFileSync(here + 'turn-' + turn, '');
  while (!existsSync(here + 'calls-' + turn)) await setTimeout(2);
  const calls = JSON.parse(readFileSync(here + 'calls-' + turn, 'utf8'));
  const asked = calls.map(({ name, arguments: input }, index) => (
    { type: 'tool_call', id: 'call_' + turn + '_' + index, name, input: JSON.parse(input) }
  ));
  const response = calls.length === 0
    ? { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' }
    : { content: asked, stop_reason: 'tool_call' };
  process.stdout.write(JSON.stringify({ type: 'response', response }) + '\\n');
}
`;
