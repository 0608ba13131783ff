import { describe, expect, it } from 'vitest';

import { audienceOf, parsePeerAddress } from './peer-address.ts';

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

describe('an audience', () => {
  it.each([
    ['reader', 'localhost:4100', 'reader@localhost:4100'],
    ['Reader', 'Peer.Example:4100', 'reader@peer.example:4100'],
    ['reader', '[::1]:4100', 'reader@[::1]:4100'],
    ['reader', 'http://peer.example:4100', 'reader@peer.example:4100'],
    ['reader', 'http://peer.example/', 'reader@peer.example:80'],
    ['reader', 'https://peer.example', 'reader@peer.example:443'],
    ['reader-2_x.y', '127.0.0.1:1', 'reader-2_x.y@127.0.0.1:1'],
  ])('of %s at %s is %s [D3-AUD-05] [D3-PEER-01]', (name, url, audience) => {
    expect(audienceOf({ name, url })).toBe(audience);
  });

  it.each([
    ['reader', 'peer.example'],
    ['reader', 'peer.example:'],
    ['reader', 'peer.example:80/x'],
    ['reader', 'http://peer.example:80?x'],
    ['reader', 'peer example:80'],
    ['reader', 'other@peer.example:80'],
    ['reader', 'a:1, b@c:2'],
    ['', 'peer.example:80'],
    ['a b', 'peer.example:80'],
    ['a@b', 'peer.example:80'],
    ['a@b:1, c', 'peer.example:80'],
    ['a,b', 'peer.example:80'],
    ['a\r\nx-evil: 1', 'peer.example:80'],
    ['é', 'peer.example:80'],
    ['a'.repeat(500), 'peer.example:80'],
  ])('is not made of %j and %j', (name, url) => {
    expect(audienceOf({ name, url })).toBeUndefined();
  });
});
