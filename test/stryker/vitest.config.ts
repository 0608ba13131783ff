import { defineConfig } from 'vitest/config';

import { ownAliases } from '../../scripts/own-names.mjs';

/** The tests beside the mutated files, and those of the referee in process: nothing here starts a program or reads `dist`. */
export default defineConfig({
  resolve: { alias: ownAliases },
  test: {
    include: [
      'test/stryker/loads.stryker.ts',
      'packages/protocol/src/**/*.test.ts',
      'packages/artifacts/src/grants/**/*.test.ts',
      'packages/kit/src/net/{address-class,address-rule,network-coverage}.test.ts',
      'packages/referee/src/**/*.test.ts',
      'packages/svc/src/session/{task-state,event-ids,replay-buffer,frame-ring,known-tasks,event-stream,task-lanes,session,input-wait}.test.ts',
      'packages/referee/test/{spawn,register,deregister,slots,identity,hygiene,races}.test.ts',
      'packages/referee/test/{artifact-registry,kept-capsules,hostile-registry}.test.ts',
    ],
    pool: 'forks',
    testTimeout: 120_000,
  },
});
