import { describe } from 'vitest';

import { checkedAddressContract } from '../../../test/support/checked-address-contract.ts';
import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import { EgressFixture, getBytes } from './egress-fixture.ts';

describe('the addresses of a host', () => {
  checkedAddressContract('a contained program', {
    reach: async ({ url, allow, resolver }) => {
      const proxy = await EgressFixture.open({ allow, resolver });
      const answer = await exchange({ port: proxy.port, bytes: [getBytes(url.href)], halfClose: true });
      await proxy.close();
      return parseResponse(answer).status === 200;
    },
  });
});
