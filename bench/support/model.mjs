// @ts-check
// Stands in for a model, at an address of this machine.
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A model behind the protocol of chat completions, over a real socket of loopback.
 * @typedef {{ port: number, close(): void }} Model
 * @typedef {{ delta: object, finish: 'stop' | 'tool_calls' }} Reply
 * @param {{ reply: () => Reply, onAsked: () => void, onAnswered?: () => void }} behaviour `onAsked` is called when a request is there whole.
 * @returns {Promise<Model>}
 */
export async function serveModel({ reply, onAsked, onAnswered }) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      onAsked();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(streamOf(reply()), onAnswered);
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

/** @param {Reply} reply */
function streamOf({ delta, finish }) {
  /** @type {(part: object, reason: string | null) => string} */
  const chunk = (part, reason) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: part, finish_reason: reason }] })}\n\n`;
  return `${chunk(delta, null)}${chunk({}, finish)}data: [DONE]\n\n`;
}
