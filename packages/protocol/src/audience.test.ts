import { describe, expect, it } from 'vitest';

import { audienceOf } from './audience.ts';

describe('an audience', () => {
  it.each([
    ['reader', 'localhost:4100', 'reader@localhost:4100'],
    ['Reader', 'Peer.Example:4100', 'reader@peer.example:4100'],
    ['reader', '[::1]:4100', 'reader@[::1]:4100'],
    ['reader', 'http://peer.example:4100', 'reader@peer.example:4100'],
    ['reader', 'http://peer.example/', 'reader@peer.example:80'],
    ['reader', 'https://peer.example', 'reader@peer.example:443'],
    ['reader-2_x.y', '127.0.0.1:1', 'reader-2_x.y@127.0.0.1:1'],
  ])('names %s at %s as %s [D3-AUD-05] [D3-PEER-01]', (name, url, audience) => {
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
  ])('cannot name %j and %j', (name, url) => {
    expect(audienceOf({ name, url })).toBeUndefined();
  });
});
