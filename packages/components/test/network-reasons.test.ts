import { describe, onTestFinished } from 'vitest';

import { networkReasonContract } from '../../../test/support/network-reason-contract.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import { get } from './support/outbound-requests.ts';

describe('why nothing came of a connection', () => {
  networkReasonContract('the host of components', {
    ask: async (url) => {
      const http = new OutboundHttp({ grants: { mayReach: () => true } });
      onTestFinished(() => http.close());
      return JSON.stringify(await get(http, url.origin));
    },
    says: {
      'a closed port': /^\{"tag":"connection-refused"\}$/,
      'a host that nobody knows': /^\{"tag":"DNS-error","val":\{"rcode":"(ENOTFOUND|EAI_AGAIN)"\}\}$/,
      'a reset connection': /^\{"tag":"connection-terminated"\}$/,
      'a connection closed without an answer': /^\{"tag":"connection-terminated"\}$/,
      // Held to times that a component chooses.
      silence: null,
      'another protocol': /^\{"tag":"HTTP-protocol-error"\}$/,
      'a server without TLS': /^\{"tag":"TLS-protocol-error"\}$/,
      'a certificate that nobody vouches for': /^\{"tag":"TLS-certificate-error"\}$/,
    },
  });
});
