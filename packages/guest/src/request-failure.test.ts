import { expect, it } from 'vitest';

import { connectionFailure } from './request-failure.ts';

it.each([
  [{ tag: 'connection-refused' }, 'cannot reach http://h: connection refused', true],
  [
    { tag: 'DNS-error', val: { rcode: null, infoCode: null } },
    'cannot reach http://h: the name does not resolve',
    true,
  ],
  [{ tag: 'HTTP-request-denied' }, 'cannot reach http://h: the capsule may not connect to it', false],
  [{ tag: 'TLS-certificate-error' }, 'cannot reach http://h: its certificate is not trusted', false],
  [{ tag: 'internal-error', val: 'socket hang up' }, 'cannot reach http://h: socket hang up', true],
  [{ tag: 'connection-read-timeout' }, 'cannot reach http://h: connection read timeout', true],
])('says why there is no connection: %j', (code, message, transient) => {
  expect(connectionFailure('http://h', code)).toMatchObject({ message, transient });
});
