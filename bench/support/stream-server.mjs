// @ts-check
// Starts the servers whose event streams are measured.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { bundleSubject } from './bundle.mjs';
import { end, environment } from './capsule.mjs';
import { svcDialect } from './dialects.mjs';
import { openWatchers } from './sse-client.mjs';

/**
 * A server whose event stream is measured, in a process of its own. `request` is what a watcher sends it. `order` resolves when the
 * server has carried it out.
 * @typedef {{ request: string, port: number, order(order: import('./producer.mjs').Order): Promise<void>, stop(): Promise<void> }} StreamServer
 */

/** The product: its event stream behind its listener. */
export async function startSvcStream() {
  const subject = await bundleSubject('stream-subject.ts');
  try {
    return await startStreamServer(subject.path, svcDialect.watch);
  } finally {
    await subject.remove();
  }
}

/** The floor: plain sockets, the same bytes. */
export function startNetBroadcast() {
  return startStreamServer(fileURLToPath(new URL('net-broadcast.mjs', import.meta.url)), svcDialect.watch);
}

/**
 * @param {string} program A module that calls `takeOrders`.
 * @param {string} request
 * @returns {Promise<StreamServer>}
 */
export async function startStreamServer(program, request) {
  const child = fork(program, { env: environment, execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => (said += chunk));
  const ended = new Promise((_resolve, reject) => {
    child.once('exit', () => reject(new Error(`the server ended: ${said.trim() || 'no reason given'}`)));
  });
  // Nobody may be waiting when it is stopped.
  ended.catch(() => undefined);
  /** @returns {Promise<import('./producer.mjs').Answer>} */
  const answer = () => Promise.race([ended, new Promise((resolve) => child.once('message', resolve))]);
  const listening = await answer();
  if (listening.kind !== 'listening') throw new Error('the server does not say where it listens');
  return {
    request,
    port: listening.port,
    async order(order) {
      child.send(order);
      const answered = await answer();
      if (answered.kind === 'failed') throw new Error(`the server could not publish: ${answered.why}`);
    },
    stop: () => end(child),
  };
}

/**
 * One round: `watchers` connect, the server publishes `frames`, and each watcher must have got every one of them, in order.
 * @typedef {{ watchers: number, frames: number, burst?: number, perSecond?: number, restUs?: number, stalled?: number }} Round As fast as they
 * are taken, `burst` of them a turn of the event loop, or `perSecond`. `stalled` watchers come on top, and are full before it begins.
 * @param {StreamServer} server
 * @param {Round} round
 * @returns {Promise<import('./sse-client.mjs').Counted>}
 */
export async function playRound(server, { watchers, frames, burst = 16, perSecond, restUs = 0, stalled = 0 }) {
  const { port, request } = server;
  const onStalled = () => server.order({ kind: 'fill', watchers: stalled });
  const client = await openWatchers({ port, request, watchers, frames, restUs, stalled, onStalled });
  try {
    const connected = { watchers: watchers + stalled, frames };
    await server.order(
      perSecond === undefined
        ? { kind: 'flood', burst, ...connected }
        : { kind: 'pace', perSecond, stalled, ...connected },
    );
    const counted = await client.counted;
    if (counted.complete < watchers || counted.disordered > 0) {
      throw new Error(
        `frames were lost: ${watchers - counted.complete} of ${watchers} watchers miss some, ${counted.disordered} came out of order`,
      );
    }
    const busy = counted.cpuUs / counted.elapsedUs;
    if (busy > 0.95)
      throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
    return counted;
  } finally {
    await client.end();
  }
}
