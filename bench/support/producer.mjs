// @ts-check
// The same producer in every server that is measured, so that only what `publish` does differs. Runs in the server's process.
import { subscribe } from 'node:diagnostics_channel';

/**
 * What the measuring process asks for, over the channel of `fork`. `watchers` are the connections there must be before anything is published.
 * - `flood`: as fast as every watcher takes it, `burst` frames in one turn of the event loop.
 * - `pace`: so many frames a second, whatever the watchers do; `stalled` of them must have something unsent at the end.
 * - `fill`: frames without a mark, until a watcher that does not read has taken all it ever will.
 * @typedef {{ kind: 'flood', watchers: number, frames: number, burst: number }
 *   | { kind: 'pace', watchers: number, frames: number, perSecond: number, stalled: number }
 *   | { kind: 'fill', watchers: number }} Order
 *
 * What the server says: first where it listens, then one answer to each order.
 * @typedef {{ kind: 'listening', port: number } | { kind: 'done' } | { kind: 'failed', why: string }} Answer
 */

/** Turns in a row in which the kernel took nothing more; the server's own queue is full by then as well. */
const fullForTurns = 200;
const fillTurns = 20_000;
const fillText = '#'.repeat(8192);
const openTurns = 100_000;

/** Every connection of the servers in this process, whichever side made them. */
/** @type {Set<import('node:net').Socket>} */
const sockets = new Set();
subscribe('net.server.socket', (message) => {
  const { socket } = /** @type {{ socket: import('node:net').Socket }} */ (message);
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
});

/**
 * Reports to the measuring process where the server listens and carries out its orders one by one. Each is answered when its last frame was
 * handed to `publish`, which sends a text to every watcher and may do so until the end of the turn.
 * @param {{ port: number, publish: (text: string) => void }} server
 */
export function takeOrders({ port, publish }) {
  process.on('message', (order) => {
    carryOut(/** @type {Order} */ (order), publish).then(
      () => say({ kind: 'done' }),
      (error) => say({ kind: 'failed', why: String(error) }),
    );
  });
  process.once('disconnect', () => process.exit(0));
  say({ kind: 'listening', port });
}

/** @param {Answer} answer */
function say(answer) {
  process.send?.(answer);
}

/**
 * @param {Order} order
 * @param {(text: string) => void} publish
 */
async function carryOut(order, publish) {
  await everyTurn(openTurns, () => sockets.size === order.watchers);
  switch (order.kind) {
    case 'flood':
      return flood(order, publish);
    case 'pace':
      await pace(order, publish);
      if (behind() < order.stalled) throw new Error('a watcher that should have stalled took everything');
      return undefined;
    case 'fill':
      return fill(publish);
  }
}

/**
 * @param {{ frames: number, burst: number }} order
 * @param {(text: string) => void} publish
 */
export async function flood({ frames, burst }, publish) {
  let next = 0;
  await everyTurn(Infinity, () => {
    if (behind() > 0) return false;
    const stamp = stampNow();
    for (const end = Math.min(next + burst, frames); next < end; next += 1) publish(markedText(next, stamp));
    return next === frames;
  });
}

/**
 * @param {{ frames: number, perSecond: number }} order
 * @param {(text: string) => void} publish
 * @returns {Promise<void>}
 */
function pace({ frames, perSecond }, publish) {
  return new Promise((resolve) => {
    const began = performance.now();
    let next = 0;
    const timer = setInterval(() => {
      const due = Math.min(frames, Math.floor(((performance.now() - began) / 1000) * perSecond));
      const stamp = stampNow();
      for (; next < due; next += 1) publish(markedText(next, stamp));
      if (next < frames) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
}

/** @param {(text: string) => void} publish */
async function fill(publish) {
  let full = 0;
  await everyTurn(fillTurns, () => {
    full = behind() > 0 ? full + 1 : 0;
    publish(fillText);
    return full === fullForTurns;
  });
}

/** Watchers to whom something was sent that the kernel has not taken: more would pile up in the server, or be lost there. */
function behind() {
  let count = 0;
  for (const socket of sockets) if (socket.writableLength > 0) count += 1;
  return count;
}

/**
 * Calls `done` in each turn of the event loop until it is true.
 * @param {number} turns
 * @param {() => boolean} done
 * @returns {Promise<void>}
 */
function everyTurn(turns, done) {
  return new Promise((resolve, reject) => {
    let left = turns;
    const turn = () => {
      if (done()) {
        resolve();
        return;
      }
      left -= 1;
      if (left > 0) setImmediate(turn);
      else reject(new Error(`nothing came of it in ${turns} turns, with ${sockets.size} connections`));
    };
    turn();
  });
}

/** Microseconds of the clock the client reads, always fifteen digits. */
function stampNow() {
  const [seconds, nanoseconds] = process.hrtime();
  return 1e14 + seconds * 1e6 + Math.floor(nanoseconds / 1000);
}

/**
 * A chunk of text of everyday length, with the mark that `sse-client.c` counts.
 * @param {number} number
 * @param {number} stamp
 */
function markedText(number, stamp) {
  return `~${1e8 + number}${stamp} The quick brown fox jumps over`;
}
