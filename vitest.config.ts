import { availableParallelism } from 'node:os';

import { type TestProjectInlineConfiguration, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { ownAliases } from './scripts/own-names.mjs';

/** Beside the files of packages are tests of code in this process, which leave nothing behind in it: one process runs many of them. */
const besideFiles = ['packages/*/src/**/*.test.ts'];
const everywhere = ['packages/**/*.test.ts', 'test/**/*.test.ts', 'artifacts/**/*.test.ts'];

function project(test: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration {
  return {
    resolve: { alias: ownAliases },
    test: {
      globalSetup: ['test/support/global-setup.ts'],
      pool: 'forks',
      testTimeout: 30_000,
      hookTimeout: 60_000,
      // The second that Vitest waits by itself is shorter than a start of a program on a busy machine.
      expect: { poll: { timeout: 20_000 } },
      ...test,
    },
  };
}

/** Those that share a process are last, in one piece: so their processes are kept, and no long file begins when the others are done. */
class SharedLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isolated = (file: TestSpecification): boolean => file.project.config.isolate;
    return [...sorted.filter(isolated), ...sorted.filter((file) => !isolated(file))];
  }
}

export default defineConfig({
  test: {
    // Many tests wait: for a deadline to pass, for a process to end. What would be idle meanwhile works for another file.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    sequence: { sequencer: SharedLast },
    projects: [
      project({
        name: 'own process',
        include: everywhere,
        exclude: ['**/node_modules/**', ...besideFiles],
        // Programs, sockets and browsers can be late: `npm run conformance` lists each second try, and fails at more than a few.
        retry: 1,
      }),
      project({
        name: 'shared process',
        include: besideFiles,
        isolate: false,
        setupFiles: ['test/support/leaves-nothing.ts'],
        restoreMocks: true,
        unstubEnvs: true,
        unstubGlobals: true,
      }),
    ],
  },
});
