import { describe } from 'vitest';

import { networkReasonContract } from '../../../../test/support/network-reason-contract.ts';
import { askPeer } from '../../src/files/peer-client.ts';

describe('why nothing came of a connection', () => {
  networkReasonContract('the client of peers', {
    ask: async (url, totalMs) => {
      const exchange = await askPeer(
        {
          url,
          path: '/',
          headers: {},
          allow: [{ scheme: null, host: url.hostname, port: null }],
          times: { idleMs: 20_000, totalMs },
          signal: new AbortController().signal,
        },
        async () => await Promise.resolve('an answer'),
      );
      return exchange.kind === 'failed' ? exchange.reason : exchange.kind;
    },
    says: { silence: /^it does not answer in time$/ },
  });
});
