import { expect, it } from 'vitest';

import { brokenResponse, connectionFailure } from './request-failure.ts';

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
  [
    { tag: 'internal-error', val: 'the proxy p:1 does not connect to h:443 (407)' },
    'cannot reach http://h: the proxy p:1 does not connect to h:443 (407)',
    false,
  ],
  [
    { tag: 'internal-error', val: 'the proxy p:1 does not connect to h:443 (503)' },
    'cannot reach http://h: the proxy p:1 does not connect to h:443 (503)',
    true,
  ],
  [{ tag: 'connection-read-timeout' }, 'cannot reach http://h: connection read timeout', true],
])('connectionFailure says why there is no connection: %j', (code, message, transient) => {
  expect(connectionFailure('http://h', code)).toMatchObject({ message, transient });
});

it.each([
  ['the HTTP exchange failed: HTTP-response-incomplete', 'the other side closed it'],
  ['the HTTP exchange failed: connection-read-timeout', 'nothing more came for too long'],
  ['HTTP-protocol-error', 'what came is not HTTP'],
  ['something else', 'something else'],
])('brokenResponse says why a response is not whole: %s', (said, reason) => {
  const message = `the connection broke before the response was whole: ${reason}`;
  expect(brokenResponse(said)).toMatchObject({ message, transient: true });
});
