import { Readable } from 'node:stream';

import { describe } from 'vitest';

import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { readTaskInput } from './task-input.ts';

describe('the task from standard input', () => {
  boundedReadContract('its reader', {
    maxBytes: 10 * 1024 * 1024,
    read: async (pieces) => {
      const { signal: stop } = new AbortController();
      try {
        return await readTaskInput(Readable.from(pieces), { context: {} as CommandContext, stop });
      } catch (error) {
        if (error instanceof Error && error.message.endsWith('it is larger than 10 MiB')) return null;
        throw error;
      }
    },
  });
});
