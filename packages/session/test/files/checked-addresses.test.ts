import { describe } from 'vitest';

import { destination } from '../../../sandbox/test/egress-fixture.ts';
import { checkedAddressContract } from '../../../../test/support/checked-address-contract.ts';
import { askPeer } from '../../src/files/peer-client.ts';

describe('the addresses of a host', () => {
  checkedAddressContract('a request to a peer', {
    reach: async ({ url, allow, resolver }) => {
      const exchange = await askPeer(
        {
          url,
          path: '/',
          headers: {},
          allow: allow.map(destination),
          times: { idleMs: 20_000, totalMs: 20_000 },
          signal: new AbortController().signal,
          resolver,
        },
        async ({ statusCode }) => await Promise.resolve(statusCode === 200),
      );
      return exchange.kind === 'answered' && exchange.answer;
    },
  });
});
