import { describe } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';

import { networkReasonContract } from '../../../../test/support/network-reason-contract.ts';
import { doorOf } from '@svc/record/running/approach-capsule.ts';
import { faultOf } from '@svc/record/running/capsule-faults.ts';
import { callCapsule } from '@svc/session/delegation/capsule-call.ts';

const method = 'tasks/get';

describe('why nothing came of a connection', () => {
  networkReasonContract('a command', {
    ask: async ({ host: address }, answerMs) => {
      // It tries a closed port again for most of a second.
      const asked = { address, timeoutMs: Math.max(answerMs, 2000) };
      const answer = new CapsuleClient({ ...doorOf(asked), isGated: false }).call(method, {});
      return await answer.then(
        () => 'an answer',
        (error: unknown) => faultOf(error, { ...asked, method }).message,
      );
    },
    // Capsules are reached without TLS.
    says: {
      silence: /no answer within 2 s/,
      'a server without TLS': null,
      'a certificate that nobody vouches for': null,
    },
  });

  networkReasonContract('a delegation', {
    ask: async (endpoint, timeoutMs) => {
      const answer = await callCapsule({ endpoint, token: null }, { method: 'tasks/get', params: {}, timeoutMs });
      return answer.kind === 'none' ? answer.reason : 'an answer';
    },
  });
});
