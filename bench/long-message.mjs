// @ts-check
// Measures how long a capsule is busy at once with the longest message that it takes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { createWorkspace, end, firstLine, waits } from './support/capsule.mjs';
import { done, manifestOf, serveModel } from './support/model.mjs';
import { median } from './support/rounds.mjs';

const loopHolds = fileURLToPath(new URL('support/loop-holds.cjs', import.meta.url));
const largestBody = 10 * 1024 * 1024;
const rounds = 5;
/** From the answer of the model until nothing of the task is left to do. */
const settleMs = 200;

/** What fills the text of a message, as JSON: what is long in it is something else for each. */
const fillings = ['a', 'é', '世', '😀', '\\"', '\\n', '\\u0000', '\\ud800', 'mh1.', '%6d'];
/** How many parts the text is cut into: one, or nearly as many as a message may hold. */
const partings = [1, 10_000];

/**
 * The longest turn of a capsule's event loop while it takes a message of 10 MiB, runs it as a task and asks its model with it: the median of five
 * for the worst of ten texts, each in one part and in thousands.
 * @type {import('./support/row.mjs').Row}
 */
export const longMessage = {
  name: 'long-message',
  goal: { atMost: 50 },
  unit: 'ms',
  async measure() {
    let answered = () => {};
    const model = await serveModel({
      onAsked: () => {},
      reply: () => done,
      onAnswered: () => answered(),
    });
    const manifest = `${manifestOf(model.port, 1)}${waits}`;
    const { folder, env, command, remove } = await createWorkspace({ manifest });
    const [node = '', ...args] = command;
    const capsule = spawn(node, ['--require', loopHolds, ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    const holds = createInterface({ input: /** @type {import('node:stream').Readable} */ (capsule.stdio[3]) });
    const maxMs = async () => {
      const told = once(holds, 'line');
      capsule.kill('SIGUSR2');
      return Number((await told)[0]);
    };
    try {
      const { url } = JSON.parse(await firstLine(capsule));
      /** @param {string} body */
      const heldMs = async (body) => {
        const done = new Promise((resolve) => (answered = () => resolve(undefined)));
        await maxMs();
        const response = await fetch(`http://${url}/`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        const { error } = /** @type {{ error?: { message: string } }} */ (await response.json());
        if (error !== undefined) throw new Error(`the message was refused: ${error.message}`);
        await done;
        await delay(settleMs);
        return maxMs();
      };
      /** @type {[string, number][]} */
      const medians = [];
      for (const parts of partings) {
        for (const filling of fillings) {
          const body = messageOf(filling, parts);
          await heldMs(body);
          const taken = [];
          for (let round = 0; round < rounds; round += 1) taken.push(await heldMs(body));
          medians.push([parts === 1 ? filling : `${filling} in ${parts} parts`, median(taken)]);
        }
      }
      const worst = medians.reduce((most, each) => (each[1] > most[1] ? each : most));
      const least = Math.min(...medians.map(([, held]) => held));
      return {
        subject: `10 MiB of ${worst[0]} ${worst[1].toFixed(0)} ms`,
        floor: `least of twenty ${least.toFixed(0)} ms`,
        figure: worst[1],
      };
    } finally {
      await end(capsule);
      model.close();
      await remove();
    }
  },
};

/**
 * @param {string} filling
 * @param {number} parts
 */
function messageOf(filling, parts) {
  const [before, after] = [
    '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"messageId":"m","role":"user","parts":[',
    ']}}',
  ];
  const [opening, closing] = ['{"text":"', '"}'];
  const room = Math.floor((largestBody - before.length - after.length) / parts) - opening.length - closing.length - 1;
  const part = `${opening}${filling.repeat(Math.floor(room / Buffer.byteLength(filling)))}${closing}`;
  return `${before}${Array.from({ length: parts }, () => part).join()}${after}`;
}
