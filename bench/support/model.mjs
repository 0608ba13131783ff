// @ts-check
// Stands in for a model, at an address of this machine.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** The answer that ends a task. @type {Reply} */
export const done = { delta: { content: 'Done.' }, finish: 'stop' };

/**
 * A model behind the protocol of chat completions, over a real socket of loopback.
 * @typedef {{ port: number, close(): void }} Model
 * @typedef {{ delta: object, finish: 'stop' | 'tool_calls', times?: number, everyMs?: number }} Reply `delta` comes so many `times`, once when absent,
 * as fast as it is taken or `everyMs` one.
 * @param {{ reply: () => Reply, onAsked: (text: () => string) => void, onAnswered?: () => void }} behaviour `onAsked` is called when a request is there whole,
 * with what makes its text.
 * @returns {Promise<Model>}
 */
export async function serveModel({ reply, onAsked, onAnswered }) {
  const server = createServer((request, response) => {
    /** @type {Buffer[]} */
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      onAsked(() => Buffer.concat(parts).toString());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      void send(response, reply()).then(onAnswered);
    });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * A capsule that asks such a model.
 * @param {number} port
 * @param {number} maxTurns
 */
export function manifestOf(port, maxTurns) {
  return `name: bench
version: 1.0.0
inference:
  model: tireless
  endpoint: http://127.0.0.1:${port}
  driver: { artifact: svc-driver-openai }
  max_turns: ${maxTurns}
`;
}

/** Written at once where no pace is given. */
const deltasAtOnce = 16;

/**
 * Resolves once the last byte is handed to the system, or the other end has gone.
 * @param {import('node:http').ServerResponse} response
 * @param {Reply} reply
 */
async function send(response, { delta, finish, times = 1, everyMs }) {
  /** @type {(part: object, reason: string | null) => string} */
  const chunk = (part, reason) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: part, finish_reason: reason }] })}\n\n`;
  const each = chunk(delta, null);
  const began = performance.now();
  for (let sent = 0; sent < times && !response.destroyed;) {
    const due = everyMs === undefined ? sent + deltasAtOnce : (performance.now() - began) / everyMs + 1;
    const count = Math.min(Math.floor(due), times) - sent;
    if (sent + count < times) {
      if (!response.write(each.repeat(count))) await once(response, 'drain');
      await (everyMs === undefined ? new Promise(setImmediate) : delay(everyMs));
    } else {
      response.end(`${each.repeat(count)}${chunk({}, finish)}data: [DONE]\n\n`);
    }
    sent += count;
  }
  if (!response.destroyed && !response.writableFinished) await once(response, 'finish');
}
