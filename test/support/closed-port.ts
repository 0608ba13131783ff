/** Finds a port at which nothing listens. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

import { onTestFinished } from 'vitest';

/**
 * A port of 127.0.0.1 at which nothing listens. Until the end of the test a connection has it for its own, so that no other server of these tests, which run
 * side by side, is given it meanwhile.
 */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const holder = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(holder, 'connect');
  onTestFinished(() => {
    holder.destroy();
    server.close();
  });
  return holder.localPort ?? 0;
}
