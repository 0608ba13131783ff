import { describe, onTestFinished } from 'vitest';

import { systemResolver } from '@svc/kit/net/resolver.ts';
import { networkReasonContract } from '../../../test/support/network-reason-contract.ts';
import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import { EgressFixture, getBytes } from './egress-fixture.ts';

const ended = /^502 The server gave no answer: the connection was closed before everything had gone over it\.$/m;

describe('why nothing came of a connection', () => {
  networkReasonContract('the proxy of contained programs', {
    ask: async (url, idleMs) => {
      const setting = { allow: [url.hostname], resolver: systemResolver, limits: { idleMs } };
      const proxy = await EgressFixture.open(setting);
      onTestFinished(async () => await proxy.close());
      const answer = await exchange({ port: proxy.port, bytes: [getBytes(url.href)] });
      const { status, body } = parseResponse(answer);
      return `${status} ${body}`;
    },
    says: {
      'a closed port': /^502 http:\/\/127\.0\.0\.1:\d+ cannot be reached: nothing listens there\.$/m,
      'a host that nobody knows':
        /^502 no-such-host\.invalid cannot be reached: (no host has that name|its name cannot be looked up now)\.$/m,
      'a reset connection': ended,
      'a connection closed without an answer': ended,
      silence: /^504 The server did not answer in time\.$/m,
      'another protocol': /^502 The server gave no answer: what it answers is not HTTP \(HPE_\w+\)\.$/m,
      // What goes through a tunnel is between the two ends.
      'a server without TLS': null,
      'a certificate that nobody vouches for': null,
    },
  });
});
