import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { ownAliases } from './scripts/own-names.mjs';

export default defineConfig({
  resolve: { alias: ownAliases },
  test: {
    include: ['packages/**/*.test.ts', 'test/**/*.test.ts', 'artifacts/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // The second that Vitest waits by itself is shorter than a start of a program on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
});
