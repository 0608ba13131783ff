import { request } from 'node:http';

import { describe } from 'vitest';

import { destination } from '../../../sandbox/test/egress-fixture.ts';
import { checkedAddressContract } from '../../../../test/support/checked-address-contract.ts';
import { addressFault } from '../../src/net/address-class.ts';
import { destinationOf, isCovered, mayReach } from '../../src/net/network-destination.ts';
import { checkedLookup } from '../../src/net/resolver.ts';
import { responseOf } from '../../src/net/connections.ts';

describe('the addresses of a host', () => {
  checkedAddressContract('a socket with a checked look-up', {
    reach: async ({ url, allow, resolver }) => {
      const list = allow.map(destination);
      const asked = destinationOf(url);
      if (asked === undefined || !mayReach(list, url)) return false;
      const faultOf = (address: string): Error | undefined => {
        const fault = addressFault((inner) => isCovered(list, inner), asked, address);
        return fault === undefined ? undefined : new Error(fault);
      };
      const outgoing = request(url, { agent: false, lookup: checkedLookup({ resolver, faultOf }, 10_000) });
      const response = responseOf(outgoing.end());
      return await response.then(
        ({ statusCode }) => statusCode === 200,
        () => false,
      );
    },
  });
});
