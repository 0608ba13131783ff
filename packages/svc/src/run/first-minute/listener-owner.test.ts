import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { ownersIn, strangerAt } from './listener-owner.ts';

const servers: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n';
const line = (at: string, uid: number, state = '0A'): string =>
  `   0: ${at}:2CAA 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 34 1 00000000c51decaa 100 0 0 10 0\n`;

describe('who listens on a port', () => {
  it('comes from the tables of the kernel', () => {
    const table = [
      head,
      line('00000000', 0),
      line('0100007F', 1001),
      line('0100007F', 1002, '01'),
      line('0A00000A', 1003),
      line('00000000000000000000000000000000', 1004),
      line('00000000000000000000000001000000', 1005),
      line('0000000000000000FFFF00000100007F', 1006),
      line('B80D0120000000000000000001000000', 1007),
    ].join('');
    expect(ownersIn(table, 11_434)).toEqual([0, 1001, 1004, 1005, 1006]);
    expect(ownersIn(table, 11_435)).toEqual([]);
    expect(ownersIn('', 11_434)).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('can be this user where this process listens (needs Linux)', async () => {
    const uid = process.getuid?.() ?? 0;
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const port = await listening(host);
      expect(strangerAt(`http://localhost:${port}`, uid)).toBeNull();
      // Seen as somebody else, this user is a stranger, unless it is one of the machine's own.
      expect(strangerAt(`http://127.0.0.1:${port}`, 4242)).toBe(uid < 1000 ? null : uid);
    }
  });

  it('stays unknown on another machine', () => {
    expect(strangerAt('http://ollama.example.com:11434', 1000)).toBeNull();
  });
});
