import { describe } from 'vitest';

import { networkReasonContract } from '../../../../test/support/network-reason-contract.ts';
import { HttpClient } from '../../src/net/http-client.ts';

describe('why nothing came of a connection', () => {
  networkReasonContract('the client of registries', {
    ask: async (url, timeoutMs) => {
      const answer = new HttpClient({ timeoutMs }).send({ label: 'the server', url, key: null });
      return await answer.then(() => 'an answer', String);
    },
    says: { silence: /the server was given up after 0\.3 seconds/ },
  });
});
