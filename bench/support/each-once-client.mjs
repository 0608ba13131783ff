// @ts-check
// Sends prepared requests, each once, on a few kept-alive connections: node each-once-client.mjs <order as JSON>. The requests lie one
// after the other in a file. Every answer must have the expected status. Prints the milliseconds from the first to the last as one JSON line.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

/** @type {{ port: number, connections: number, file: string, lengths: readonly number[], status: number }} */
const { port, connections, file, lengths, status } = JSON.parse(process.argv[2] ?? '{}');
const expected = `HTTP/1.1 ${status}`;
const requests = cut(readFileSync(file), lengths);

const sockets = await Promise.all(Array.from({ length: connections }, open));
const began = performance.now();
const next = requests.values();
await Promise.all(sockets.map(sendInTurn));
const elapsedMs = performance.now() - began;
for (const socket of sockets) socket.destroy();
console.log(JSON.stringify({ elapsedMs }));

/**
 * @param {Buffer} bytes
 * @param {readonly number[]} sizes
 */
function cut(bytes, sizes) {
  let start = 0;
  return sizes.map((size) => bytes.subarray(start, (start += size)));
}

/** @returns {Promise<import('node:net').Socket>} */
function open() {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** @param {import('node:net').Socket} socket */
async function sendInTurn(socket) {
  for (const request of next) {
    const answer = answerOf(socket);
    socket.write(request);
    const head = await answer;
    if (!head.startsWith(expected)) throw new Error(`not ${status}: ${head}`);
  }
}

/**
 * The whole of the next answer, by the length that it announces or its last chunk.
 * @param {import('node:net').Socket} socket
 * @returns {Promise<string>}
 */
function answerOf(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    /** @param {Buffer} chunk */
    const onData = (chunk) => {
      text += chunk.toString('latin1');
      if (!isWhole(text)) return;
      socket.off('data', onData);
      resolve(text);
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error(`the server closed a connection: ${text}`)));
  });
}

/** @param {string} text */
function isWhole(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))?.[1];
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= end + 4 + Number(length);
}
