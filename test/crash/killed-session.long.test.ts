import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 10);

/** Long lines and a long result make a torn write likely to be caught. */
const bulk = 'x'.repeat(64 * 1024);
const reply = `${bulk} end`;
const turns = 12;
const pageBytes = 4096;
const script = JSON.stringify([
  ...Array.from({ length: turns }, (_, index) => ({
    content: [{ type: 'tool_call', id: `call_${index}`, name: 'sh', input: { command: `: ${bulk}` } }],
    stop_reason: 'tool_call',
  })),
  { content: [{ type: 'text', text: reply }], stop_reason: 'end_turn' },
]);

describe(`a session killed at any moment, ${rounds} rounds`, () => {
  let workspace: Workspace;
  let wholeMs = 0;

  beforeAll(async () => {
    workspace = scriptCapsule({
      manifest: 'capabilities: { shell: { allow: [sh] } }\n',
      script,
      files: { 'task.md': 'Work.\n' },
    });
    workspace.write(
      'svc.yaml',
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace('inference:\n', 'inference:\n  max_turns: 20\n'),
    );
    const startedMs = performance.now();
    const whole = await svc(workspace, ['run']);
    if (whole.code !== 0) throw new Error(`a run that nobody kills failed: ${whole.stderr}`);
    wholeMs = performance.now() - startedMs;
  }, 60_000);

  afterAll(() => workspace.remove());

  it(
    'leaves a trace whose every line parses and no half-written result',
    async () => {
      let killed = 0;
      const checked = new Set<string>();
      for (let round = 0; round < rounds; round += 1) {
        const process = new SvcProcess(workspace, ['run', '--json']);
        // The moments are spread over the whole run, its start and its end included.
        await Promise.race([process.ended, delay((wholeMs * (round + 0.5)) / rounds)]);
        process.child.kill('SIGKILL');
        if ((await process.ended).signal === 'SIGKILL') killed += 1;
        checkTraces(workspace.folder, checked);
        checkResults(workspace.folder);
      }
      expect(killed).toBeGreaterThan(rounds / 3);
      expect((await svc(workspace, ['ps'])).stderr).toBe('no capsule is running\n');
      expect((await svc(workspace, ['run'])).code).toBe(0);
    },
    60_000 + rounds * 30_000,
  );
});

/** Checks the traces of the sessions that are not in `checked` yet, and adds them to it. */
function checkTraces(folder: string, checked: Set<string>): void {
  const sessions = join(folder, '.svc', 'sessions');
  for (const session of readdirSync(sessions)) {
    if (checked.has(session)) continue;
    checked.add(session);
    const path = join(sessions, session, 'trace.jsonl');
    if (!existsSync(path)) continue;
    const text = readFileSync(path, 'utf8');
    const lines = text.split('\n');
    // Within an append of many pages the kernel ends at one of them when it kills.
    if (lines.pop() !== '') expect(Buffer.byteLength(text) % pageBytes, `the size of ${path}`).toBe(0);
    for (const line of lines) expect(() => JSON.parse(line) as unknown, line.slice(0, 200)).not.toThrow();
  }
}

function checkResults(folder: string): void {
  const workdirs = join(folder, 'workdir');
  if (!existsSync(workdirs)) return;
  for (const session of readdirSync(workdirs)) {
    const result = join(workdirs, session, 'out', 'result.txt');
    if (existsSync(result)) expect(readFileSync(result, 'utf8') === reply, result).toBe(true);
  }
}
