import { defineConfig } from 'vitest/config';

/** The tests beside the mutated files, and those of the referee in process: nothing here starts a program or reads `dist`. */
export default defineConfig({
  test: {
    include: [
      'test/stryker/loads.stryker.ts',
      'src/wire/**/*.test.ts',
      'src/grants/**/*.test.ts',
      'src/referee/**/*.test.ts',
      'src/session/{task-state,event-ids,replay-buffer,frame-ring,known-tasks,event-stream,task-lanes}.test.ts',
      'test/referee/{spawn,register,deregister,slots,identity,hygiene,races}.test.ts',
      'test/referee/{artifact-registry,kept-capsules,hostile-registry}.test.ts',
    ],
    pool: 'forks',
    testTimeout: 120_000,
  },
});
