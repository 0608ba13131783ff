import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { TirelessProvider } from '../support/fake-providers/tireless-provider.ts';
import { message, rpc, startCapsule } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

/** `npm run test:many-turns` asks for 2,000. */
const turns = Number(process.env['MANY_TURNS'] ?? '120');
const timeoutMs = 60_000 + turns * 1000;
/** Pipes for commands are made 64 at a time, and the stock of them is now full and now empty. */
const spareDescriptors = 80;
/** Of the conversation itself, which is held several times over, and of a heap that is collected when it likes. */
const spareBytes = 96 * 1024 * 1024;

let workspace: Workspace | null = null;
let provider: TirelessProvider | null = null;
afterEach(() => {
  provider?.close();
  workspace?.remove();
});

interface Held {
  readonly descriptors: number;
  readonly memoryBytes: number;
}

function heldBy(pid: number): Held {
  const memory = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, memoryBytes: Number(memory) * 1024 };
}

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

/** A command in some of the turns: each is a process. */
function callsOf(turn: number): readonly { readonly name: string; readonly arguments: string }[] {
  if (turn > turns) return [];
  return turn % 20 === 0 ? [...calls, { name: 'sh', arguments: '{"command":"true"}' }] : calls;
}

function expectFlat(early: Held | null, late: Held | null): void {
  if (early === null || late === null) throw new Error('nothing was measured');
  expect(late.descriptors).toBeLessThanOrEqual(early.descriptors + spareDescriptors);
  expect(late.memoryBytes).toBeLessThanOrEqual(early.memoryBytes + spareBytes);
}

describe(`a task of ${turns} turns`, () => {
  it(
    'over one connection to its model leaves nothing behind and standard error empty',
    async () => {
      let pid = 0;
      let early: Held | null = null;
      let late: Held | null = null;
      const connections = new Set<unknown>();
      provider = await TirelessProvider.start({
        calls: callsOf,
        onTurn: (turn, _bytes, socket) => {
          connections.add(socket);
          if (turn === Math.floor(turns / 4)) early = heldBy(pid);
          if (turn === turns) late = heldBy(pid);
        },
      });
      workspace = makeWorkspace({});
      workspace.write(
        'svc.yaml',
        manifestOf(`  endpoint: ${provider.endpoint}\n  driver: { artifact: svc-driver-openai }\n`),
      );
      const { process: capsule, line } = await startCapsule(workspace);
      ({ pid } = line);
      await rpc(line.url, 'message/send', message('Go on.'));
      const { code, stderr } = await capsule.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(connections.size).toBe(1);
      expectFlat(early, late);
    },
    timeoutMs,
  );

  it(
    'with a program as its model leaves nothing behind and standard error empty',
    async () => {
      workspace = makeWorkspace({ 'model.mjs': model });
      const command = JSON.stringify([process.execPath, join(workspace.folder, 'model.mjs'), String(turns)]);
      workspace.write('svc.yaml', manifestOf(`  transport: process\n  command: ${command}\n`));
      const { process: capsule, line } = await startCapsule(workspace);
      workspace.write('pid', String(line.pid));
      await rpc(line.url, 'message/send', message('Go on.'));
      const { code, stderr } = await capsule.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const measured = JSON.parse(readFileSync(join(workspace.folder, 'held.json'), 'utf8')) as Held[];
      expectFlat(measured[0] ?? null, measured[1] ?? null);
    },
    timeoutMs,
  );
});

/** A driver that looks at the program that runs it. */
const model = `import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const here = new URL('.', import.meta.url).pathname;
const turns = Number(process.argv[2]);
const held = [];

function look() {
  const pid = readFileSync(here + 'pid', 'utf8');
  const [, kB] = /^VmRSS:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/' + pid + '/status', 'utf8'));
  held.push({ descriptors: readdirSync('/proc/' + pid + '/fd').length, memoryBytes: Number(kB) * 1024 });
  writeFileSync(here + 'held.json', JSON.stringify(held));
}

let turn = 0;
for await (const _ of createInterface({ input: process.stdin })) {
  turn += 1;
  if (turn === Math.floor(turns / 4) || turn === turns) look();
  const calls = [
    { type: 'tool_call', id: 'a' + turn, name: 'svc-tool-editor', input: { command: 'list' } },
    { type: 'tool_call', id: 'b' + turn, name: 'no-such-tool', input: {} },
    ...(turn % 20 === 0 ? [{ type: 'tool_call', id: 'c' + turn, name: 'sh', input: { command: 'true' } }] : []),
  ];
  const response = turn > turns
    ? { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' }
    : { content: calls, stop_reason: 'tool_call' };
  process.stdout.write(JSON.stringify({ type: 'response', response }) + '\\n');
}
`;
