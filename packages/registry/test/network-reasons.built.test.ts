import { describe, onTestFinished } from 'vitest';

import { networkReasonContract } from '../../../test/support/network-reason-contract.ts';
import { S3Client } from '../src/s3/s3-client.ts';
import { faultOf, now, s3Settings, shortLimits } from './s3-kit.ts';
import { standInUser } from './s3-stand-in.ts';

describe('why nothing came of a connection', () => {
  networkReasonContract('the store on S3', {
    ask: async (url, answerMs) => {
      const limits = { ...shortLimits, attempts: 1, answerMs, idleMs: 20_000 };
      const client = new S3Client(s3Settings('s3://bucket/p', url.origin, standInUser), { now, limits });
      onTestFinished(() => client.close());
      return await faultOf(client.ask({ attempt: 'ask', method: 'GET', expected: [200] }));
    },
  });
});
