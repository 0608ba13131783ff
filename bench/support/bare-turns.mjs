// @ts-check
// The floor of a turn: a Node process that asks a model and reads each event of its answer, and nothing else. node bare-turns.mjs <port>; a number
// that is sent to it says how often it asks, one request after the other; it answers with the milliseconds of one.
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';

const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true });
const messages = [
  { role: 'system', content: 'x'.repeat(500) },
  { role: 'user', content: 'Go.' },
];
const body = JSON.stringify({ model: 'tireless', stream: true, messages });
let deltas = 0;

process.on('message', (/** @type {number} */ times) => void answer(times));
process.send?.('ready');

/** @param {number} times */
async function answer(times) {
  const began = performance.now();
  for (let asked = 0; asked < times; asked += 1) await ask();
  // Said with each answer, so that what was read has to be read.
  process.send?.({ took: (performance.now() - began) / times, deltas });
}

/** @returns {Promise<void>} */
function ask() {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const options = { port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', agent, headers };
    request(options, (response) => {
      const lines = createInterface({ input: response });
      lines.on('line', (line) => {
        if (line.startsWith('data: {')) deltas += JSON.parse(line.slice(6)).choices.length;
      });
      lines.once('close', resolve);
    })
      .once('error', reject)
      .end(body);
  });
}
