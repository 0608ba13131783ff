// @ts-check
// Measures whether turns grow slower as a conversation grows.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { createWorkspace } from './support/capsule.mjs';
import { done, manifestOf, serveModel } from './support/model.mjs';
import { median } from './support/rounds.mjs';

const turns = 1530;
/** Turns whose median counts, from the second on and from the 1,500th: the first of all makes the component. */
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
  /** @type {number[]} */
  const took = [];
  let turn = 0;
  let answeredAt = 0;
  const model = await serveModel({
    onAsked: () => {
      if (answeredAt > 0) took.push(performance.now() - answeredAt);
      turn += 1;
    },
    reply: () => (turn > turns ? done : callOf(turn)),
    onAnswered: () => (answeredAt = performance.now()),
  });
  const { folder, env, command, remove } = await createWorkspace({ manifest: manifestOf(model.port, turns + 1) });
  const [file = '', ...args] = command;
  try {
    // Rejects with what the capsule said when it fails.
    await promisify(execFile)(file, [...args, '--task', 'Go on.'], { cwd: folder, env });
    return took;
  } finally {
    model.close();
    await remove();
  }
}

/**
 * Calls a tool that there is not, which costs the runtime next to nothing, with some 300 bytes of conversation a turn.
 * @param {number} turn
 * @returns {import('./support/model.mjs').Reply}
 */
export function callOf(turn) {
  const call = { name: 'none', arguments: JSON.stringify({ path: 'src/file.txt', text: 'x'.repeat(60) }) };
  const toolCalls = [{ index: 0, id: `call_${turn}`, type: 'function', function: call }];
  return { delta: { tool_calls: toolCalls }, finish: 'tool_calls' };
}
