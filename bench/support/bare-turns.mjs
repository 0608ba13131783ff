// @ts-check
// The floor of a turn: a Node process that asks a model and reads each event of its answer, and nothing else. node bare-turns.mjs <port> [<line for
// bash>]; a number that is sent to it says how often it asks, one request after the other, each behind a run of the line; it answers with the
// milliseconds of one. It says first where it listens: who connects there is sent each event as it comes.
import { Agent, createServer, request } from 'node:http';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const port = Number(process.argv[2]);
const line = process.argv[3];
const run = line === undefined ? null : promisify((await import('node:child_process')).execFile);
// Without a home, bash asks the whole system who its user is.
const env = { ...process.env, HOME: '/' };
const agent = new Agent({ keepAlive: true });
const messages = [
  { role: 'system', content: 'x'.repeat(500) },
  { role: 'user', content: 'Go.' },
];
const body = JSON.stringify({ model: 'tireless', stream: true, messages });
let deltas = 0;
/** @type {Set<import('node:net').Socket>} */
const watchers = new Set();

process.on('message', (/** @type {number} */ times) => void answer(times));
const server = createServer((_request, response) => {
  response.useChunkedEncodingByDefault = false;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const { socket } = response.req;
  socket.setNoDelay(true);
  watchers.add(socket);
  response.once('close', () => watchers.delete(socket));
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));

/** @param {number} times */
async function answer(times) {
  const began = performance.now();
  for (let asked = 0; asked < times; asked += 1) {
    await run?.('bash', ['-c', line ?? ''], { env });
    await ask();
  }
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
        if (!line.startsWith('data: {')) return;
        const { choices } = JSON.parse(line.slice(6));
        deltas += choices.length;
        for (const watcher of watchers) watcher.write(frameOf(choices[0].delta.content ?? ''));
      });
      lines.once('close', resolve);
    })
      .once('error', reject)
      .end(body);
  });
}

/** @param {string} text */
function frameOf(text) {
  return `id: ${deltas}\nevent: text\ndata: ${JSON.stringify({ id: 'task_0123456789abcdef0123456789abcdef', text })}\n\n`;
}
