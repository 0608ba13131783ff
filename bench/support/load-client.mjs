// @ts-check
// Sends one request over and over on kept-alive connections, on raw sockets: node load-client.mjs <order as JSON>. What arrives is read into
// one buffer and counted, so that the client costs little. Every answer must have the status 200 and the length of the first. Prints what it
// counted as one JSON line.
import { connect } from 'node:net';

/** @type {{ port: number, connections: number, warmUpMs: number, measureMs: number, request: string }} */
const { port, connections, warmUpMs, measureMs, request } = JSON.parse(process.argv[2] ?? '{}');
const success = 'HTTP/1.1 200';
const place = Buffer.allocUnsafeSlow(1024 * 1024);

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
  let received = 0;
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: place,
      callback: (size, buffer) => {
        if (received === 0) checkHead(buffer.subarray(0, size));
        received += size;
        if (received < (length ?? 0)) return true;
        if (received > (length ?? 0)) throw new Error(`an answer of ${received} bytes where ${length} were expected`);
        received = 0;
        counted += 1;
        socket.write(request);
        return true;
      },
    },
  });
  socket.on('connect', () => socket.write(request));
  socket.on('close', () => {
    throw new Error('the server closed a connection');
  });
}

/** @param {Uint8Array} chunk The first of an answer, and thus its head. */
function checkHead(chunk) {
  const head = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.length, 4096)).toString('latin1');
  if (!head.startsWith(success)) throw new Error(`not a success: ${head}`);
  if (length !== null) return;
  const headEnd = head.indexOf('\r\n\r\n');
  const declared = /\r\ncontent-length: (\d+)\r\n/i.exec(head.slice(0, headEnd + 2));
  if (headEnd < 0 || declared === null) throw new Error('the first chunk holds no head with a length');
  length = headEnd + 4 + Number(declared[1]);
}
