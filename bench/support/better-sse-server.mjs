// @ts-check
// The peer as its documentation has it: a session for each response, a channel that broadcasts to all of them. The event id is given, which
// spares it making one; the payload is that of a text frame of the product. It also has event buffers: a program that gathers the events
// of a turn in one and hands it to each session itself, without a channel, is several times faster; that is then the program's doing.
import { createServer } from 'node:http';

import { takeOrders } from './producer.mjs';

/**
 * The part of the package that is used. It is there when the row runs, not when the project is type-checked.
 * @typedef {{
 *   createChannel: () => { register(session: object): void, broadcast(data: unknown, eventName: string, options: { eventId: string }): void },
 *   createSession: (request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => Promise<object>,
 * }} BetterSse
 */
const packageName = 'better-sse';
/** @type {BetterSse} */
const { createChannel, createSession } = await import(packageName);

const channel = createChannel();
let id = 0;

const server = createServer((request, response) => {
  void createSession(request, response).then((session) => channel.register(session));
});
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  takeOrders({
    port: address.port,
    publish(text) {
      const frame = { id: 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e', text, final: false };
      channel.broadcast(frame, 'text', { eventId: String(id) });
      id += 1;
    },
  });
});
