import { describe, expect, it } from 'vitest';

import { parsePeerAddress } from './peer-address.ts';

describe('the address of a peer', () => {
  it.each([
    ['localhost:4100', 'http://localhost:4100/'],
    [' localhost:4100\n', 'http://localhost:4100/'],
    ['Peer.Example:80', 'http://peer.example/'],
    ['[::1]:4100', 'http://[::1]:4100/'],
    ['http://peer.example', 'http://peer.example/'],
    ['http://peer.example:4100/', 'http://peer.example:4100/'],
    ['https://peer.example', 'https://peer.example/'],
    ['HTTPS://peer.example:8443', 'https://peer.example:8443/'],
  ])('%j is %s [D3-TOOL-03]', (text, url) => {
    expect(parsePeerAddress(text)).toMatchObject({ kind: 'peer', url: { href: url } });
  });

  it.each([
    ['', 'is empty'],
    ['peer.example', 'has no port'],
    ['peer.example:0', 'is not a host with an optional port'],
    ['peer.example:70000', 'has a port above 65535'],
    ['peer.example:80/x', 'has a path'],
    ['http://peer.example/resources/peer/', 'has a path'],
    ['http://user@peer.example', 'has a user part'],
    ['http://peer.example?x', 'has a query'],
    ['ftp://peer.example', 'has a scheme that is not http or https'],
    ['peer example:80', 'does not name a host'],
    ['*:80', 'has a wildcard, name each host'],
  ])('%j %s', (text, reason) => {
    expect(parsePeerAddress(text)).toEqual({ kind: 'malformed', reason });
  });
});
