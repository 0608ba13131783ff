import { describe } from 'vitest';

import { mayReach } from '@svc/kit/net/network-destination.ts';
import { destination } from '../../sandbox/test/egress-fixture.ts';
import { checkedAddressContract } from '../../../test/support/checked-address-contract.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import { get } from './support/outbound-requests.ts';

describe('the addresses of a host', () => {
  checkedAddressContract('a component', {
    reach: async ({ url, allow, resolver }) => {
      const list = allow.map(destination);
      const http = new OutboundHttp({ grants: { mayReach: (asked) => mayReach(list, asked) }, resolver });
      const answer = await get(http, url.origin);
      http.close();
      return answer === 200;
    },
  });
});
