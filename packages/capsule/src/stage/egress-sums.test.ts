import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import { EgressSums } from './egress-sums.ts';

const home = { host: 'example.com', port: 443, by: 'programs' };

describe('the traffic of a session', () => {
  it('makes one line for each host, port and asker, whatever the connections', () => {
    const sums = new EgressSums();
    sums.add({ ...home, allowed: true, connections: 1, bytesIn: 10, bytesOut: 2 });
    sums.add({ ...home, allowed: true, connections: 1, bytesIn: 5 });
    sums.add({ ...home, allowed: false, connections: 1 });
    sums.add({ ...home, by: 'fetcher', allowed: true, connections: 1, bytesOut: 1 });
    const line = { event_type: 'egress', host: 'example.com', port: 443 };
    expect(sums.lines()).toEqual([
      { ...line, allowed: true, by: 'fetcher', connections: 1, bytes_in: 0, bytes_out: 1 },
      { ...line, allowed: false, by: 'programs', connections: 1, bytes_in: 0, bytes_out: 0 },
      { ...line, allowed: true, by: 'programs', connections: 2, bytes_in: 15, bytes_out: 2 },
    ]);
    expect(sums.hosts()).toEqual({ 'example.com:443': { used: 3, refused: 1 } });
  });

  it('has the bytes of connections that are open at its end, once', () => {
    const sums = new EgressSums();
    const socket = Object.assign(new EventEmitter(), { bytesRead: 3, bytesWritten: 4 }) as unknown as Socket;
    sums.follow(home, socket);
    const open = sums.lines();
    socket.emit('close');
    expect(sums.lines()).toEqual(open);
    expect(open).toMatchObject([{ bytes_in: 3, bytes_out: 4 }]);
  });

  it('adds up beyond 1,000 hosts', () => {
    const sums = new EgressSums();
    for (let index = 0; index < 5000; index += 1) {
      sums.add({ ...home, host: `h${index}.example.com`, allowed: false, connections: 1 });
    }
    expect(sums.lines()).toHaveLength(1001);
    expect(sums.lines().find(({ host }) => host === '*')).toMatchObject({ port: 0, connections: 4000 });
    expect(Object.keys(sums.hosts())).toHaveLength(200);
    expect(sums.hosts()['*']).toEqual({ used: 0, refused: 4000 });
  });
});
