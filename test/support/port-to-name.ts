/** Finds a port that a test can name before anything listens there. */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

import { unlessErrno } from '@svc/kit/files/unless-refused.ts';

/**
 * A free port of 127.0.0.1 that a test can name, and take again after it was given back. The kernel gives it to nobody who asks for any port: tests run side
 * by side, and one that was given so is given to the next.
 */
export async function portToName(): Promise<number> {
  const given = unlessErrno(
    ['ENOENT'],
    () => readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1'),
    '32768',
  );
  const lowest = Number(given.split(/\s/)[0]);
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(Math.floor(lowest / 2), lowest);
    if (await isFree(port)) return port;
  }
  throw new Error(`there is no free port below ${lowest}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  server.close();
  await once(server, 'close');
  return true;
}
