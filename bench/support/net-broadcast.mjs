// @ts-check
// The floor of an event stream: plain sockets. Whatever a client sends is taken for a request to watch; the frames of a turn become one
// buffer, which is written once to each watcher. The bytes of a frame are those of the product.
import { createServer } from 'node:net';

import { takeOrders } from './producer.mjs';

const head =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: keep-alive\r\n\r\n';

/** @type {Set<import('node:net').Socket>} */
const watchers = new Set();
let pending = '';
let id = 0;

const server = createServer({ noDelay: true }, (socket) => {
  socket.once('data', () => {
    socket.write(head);
    watchers.add(socket);
  });
  socket.once('close', () => watchers.delete(socket));
  socket.on('error', () => socket.destroy());
});

/** @param {string} text */
function publish(text) {
  if (pending === '') queueMicrotask(flush);
  const data = `{"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":${JSON.stringify(text)},"final":false}`;
  pending += `id: ${id}\nevent: text\ndata: ${data}\n\n`;
  id += 1;
}

function flush() {
  const bytes = Buffer.from(pending);
  pending = '';
  for (const watcher of watchers) watcher.write(bytes);
}

server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  takeOrders({ port: address.port, publish });
});
