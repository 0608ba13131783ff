import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

import { describe } from 'vitest';

import { boundedReadContract } from '../../../test/support/bounded-read-contract.ts';
import { readText } from '../src/s3/s3-client.ts';
import { Unanswered } from '../src/s3/s3-answers.ts';

describe('the answer of a store on S3', () => {
  boundedReadContract('its reader', {
    maxBytes: 5000,
    read: async (pieces) => {
      try {
        return await readText(Readable.from(pieces) as IncomingMessage, 5000);
      } catch (error) {
        if (error instanceof Unanswered) return null;
        throw error;
      }
    },
  });
});
