// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { environment, program } from './support/capsule.mjs';
import { median } from './support/rounds.mjs';

const turns = 1530;
/** Turns of which the median is taken, from the second on and from the 1,500th: the first of all makes the component. */
const sample = 30;

/** What the runtime takes between the end of one response of the model and the next whole request, late in a long task and at its start. */
/** @type {import('./support/row.mjs').Row} */
export const longConversation = {
  name: 'long-conversation',
  goal: { atMost: 2 },
  unit: 'times',
  async measure() {
    const took = await millisecondsOfTurns();
    const early = median(took.slice(1, 1 + sample));
    const late = median(took.slice(1500 - sample / 2, 1500 + sample / 2));
    return {
      subject: `turn 1,500 ${late.toFixed(1)} ms`,
      floor: `turns at the start ${early.toFixed(1)} ms`,
      figure: late / early,
    };
  },
};

/** One for each request but the first. */
async function millisecondsOfTurns() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  /** @type {number[]} */
  const took = [];
  let turn = 0;
  let answeredAt = 0;
  const model = createServer((request, response) => {
    request.resume().on('end', () => {
      if (answeredAt > 0) took.push(performance.now() - answeredAt);
      turn += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(replyOf(turn), () => (answeredAt = performance.now()));
    });
  });
  model.keepAliveTimeout = 0;
  model.listen(0, '127.0.0.1');
  await once(model, 'listening');
  try {
    const { port } = /** @type {import('node:net').AddressInfo} */ (model.address());
    await writeFile(join(folder, 'svc.yaml'), manifestOf(port));
    const args = [program, 'run', '--offline', '--task', 'Go on.', '--manifest', join(folder, 'svc.yaml')];
    const capsule = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...environment, HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    capsule.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const [code] = await once(capsule, 'close');
    if (code !== 0) throw new Error(`the capsule ended with ${code}: ${said.trim()}`);
    return took;
  } finally {
    model.closeAllConnections();
    model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {number} port */
function manifestOf(port) {
  return `name: bench
version: 1.0.0
inference:
  model: tireless
  endpoint: http://127.0.0.1:${port}
  driver: { artifact: svc-driver-openai }
  max_turns: ${turns + 1}
`;
}

/**
 * Calls a tool that there is not, which costs the runtime next to nothing, with some 300 bytes of conversation a turn.
 * @param {number} turn
 */
function replyOf(turn) {
  const call = { name: 'none', arguments: JSON.stringify({ path: 'src/file.txt', text: 'x'.repeat(60) }) };
  const toolCalls = [{ index: 0, id: `call_${turn}`, type: 'function', function: call }];
  const [delta, finish] = turn > turns ? [{ content: 'Done.' }, 'stop'] : [{ tool_calls: toolCalls }, 'tool_calls'];
  /** @type {(delta: object, finish: string | null) => string} */
  const chunk = (part, reason) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: part, finish_reason: reason }] })}\n\n`;
  return `${chunk(delta, null)}${chunk({}, finish)}data: [DONE]\n\n`;
}
