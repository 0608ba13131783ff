// @ts-check
// Measures how long the first call of a tool takes.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

import { createWorkspace } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

const manifest = `
name: first-call
version: 1.0.0
artifacts:
  - { name: svc-driver-script, version: 1.0.0, runtime: driver }
  - { name: svc-tool-editor, version: 1.0.0 }
inference:
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
`;
const script = `
- content: [{ type: tool_call, id: call_1, name: svc-tool-editor, input: { command: write, path: a.txt, content: a } }]
  stop_reason: tool_call
- content: [{ type: text, text: done }]
  stop_reason: end_turn
`;

/** The first call of a WebAssembly tool in a session, as its trace has it; the compiled component is on disk already. The floor says
 * how much of it is the thread that a component gets of its own. */
/** @type {import('./support/row.mjs').Row} */
export const firstToolCall = {
  name: 'first-tool-call',
  goal: { atMost: 60 },
  unit: 'ms',
  async measure() {
    const workspace = await createWorkspace({ manifest, script });
    try {
      const { subject, floor } = await alternate({
        rounds: 11,
        subject: () => firstCallMs(workspace),
        floor: emptyThreadMs,
      });
      return { subject: 'svc-tool-editor, write', floor: `empty thread ${floor.toFixed(0)} ms`, figure: subject };
    } finally {
      await workspace.remove();
    }
  },
};

/**
 * @param {import('./support/capsule.mjs').Workspace} workspace
 * @returns {Promise<number>}
 */
async function firstCallMs({ folder, env, command: [file = '', ...args] }) {
  const { stdout } = await promisify(execFile)(file, [...args, '--task', 'go'], { cwd: folder, env });
  const trace = join(folder, '.svc', 'sessions', JSON.parse(stdout).session_id, 'trace.jsonl');
  const lines = (await readFile(trace, 'utf8')).trimEnd().split('\n');
  const call = lines.map((line) => JSON.parse(line)).find((line) => line.event_type === 'tool_call');
  if (call === undefined || call.is_error) throw new Error(`the tool call failed: ${JSON.stringify(call)}`);
  return call.duration_ms;
}

/** @returns {Promise<number>} */
async function emptyThreadMs() {
  const began = performance.now();
  const thread = new Worker('', { eval: true });
  await once(thread, 'online');
  const startedMs = performance.now() - began;
  await thread.terminate();
  return startedMs;
}
