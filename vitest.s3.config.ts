import { defineConfig } from 'vitest/config';

import { ownAliases } from './scripts/own-names.mjs';

/** What needs a real S3 service, which is started once for all of it: `npm run test:s3`. */
export default defineConfig({
  resolve: { alias: ownAliases },
  test: {
    include: ['packages/**/*.s3.ts', 'test/**/*.s3.ts'],
    globalSetup: ['test/support/global-setup.ts', 'packages/registry/test/ceph-gateway.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
});
