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
  },
});
