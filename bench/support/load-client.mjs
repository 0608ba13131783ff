// @ts-check
// Sends one request over and over on many kept-alive connections, on raw sockets: a full HTTP client would be slower than what
// it measures. Every response must have the status 200 and the length of the first. Prints what it counted as one JSON line.
import { connect } from 'node:net';

/** @type {{ port: number, connections: number, warmUpMs: number, measureMs: number, request: string }} */
const { port, connections, warmUpMs, measureMs, request } = JSON.parse(process.argv[2] ?? '{}');
const bytes = Buffer.from(request);
const success = 'HTTP/1.1 200';

let counted = 0;
/** @type {number | null} */
let length = null;

for (let index = 0; index < connections; index += 1) open();

setTimeout(() => {
  const cpu = process.cpuUsage();
  const began = performance.now();
  counted = 0;
  setTimeout(() => {
    const elapsedMs = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    console.log(JSON.stringify({ perSecond: (counted / elapsedMs) * 1000, busy: (user + system) / 1000 / elapsedMs }));
    process.exit(0);
  }, measureMs);
}, warmUpMs);

function open() {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let received = 0;
  socket.on('connect', () => socket.write(bytes));
  socket.on('data', (chunk) => {
    if (received === 0) checkHead(chunk);
    received += chunk.length;
    if (received < (length ?? 0)) return;
    if (received > (length ?? 0)) throw new Error(`a response of ${received} bytes where ${length} were expected`);
    received = 0;
    counted += 1;
    socket.write(bytes);
  });
  socket.on('close', () => {
    throw new Error('the server closed a connection');
  });
}

/** @param {Buffer} chunk */
function checkHead(chunk) {
  if (chunk.toString('latin1', 0, success.length) !== success)
    throw new Error(`not a success: ${chunk.toString('latin1')}`);
  if (length !== null) return;
  const head = chunk.toString('latin1');
  const headEnd = head.indexOf('\r\n\r\n');
  const declared = /\r\ncontent-length: (\d+)\r\n/i.exec(head.slice(0, headEnd + 2));
  if (headEnd < 0 || declared === null) throw new Error('the first chunk holds no head with a length');
  length = headEnd + 4 + Number(declared[1]);
}
