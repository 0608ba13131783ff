import { availableParallelism } from 'node:os';

import { type TestProjectInlineConfiguration, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { ownAliases } from './scripts/own-names.mjs';

/** Takes minutes for its volume, or for what it installs: it runs with `npm run test:long`. */
const long = ['**/*.long.test.ts'];
/** Tests of code in this process, beside what they test. */
const unit = ['packages/*/src/**/*.test.ts'];
/** These start what the build makes. */
const programs = ['test/**/*.test.ts', 'packages/components/test/**/*.test.ts', 'packages/**/*.built.test.ts'];
/** These start a browser, or leave something in their own process: each file has a process of its own. */
const alone = ['test/bench/**/*.test.ts', 'packages/viewer/test/**/*.test.ts'];
const inPackages = ['packages/**/*.test.ts', 'artifacts/**/*.test.ts'];

type Settings = NonNullable<TestProjectInlineConfiguration['test']>;

function project(name: string, test: Settings): TestProjectInlineConfiguration {
  return {
    resolve: { alias: ownAliases },
    test: {
      name,
      pool: 'forks',
      testTimeout: 30_000,
      hookTimeout: 60_000,
      // The second that Vitest waits by itself is shorter than a start of a program on a busy machine.
      expect: { poll: { timeout: 20_000 } },
      ...test,
      exclude: ['**/node_modules/**', ...(test.exclude ?? [])],
    },
  };
}

/** One process runs many files, of which each leaves it as it was. */
const together: Settings = {
  isolate: false,
  setupFiles: ['test/support/leaves-nothing.ts'],
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
};
/** Programs, sockets and browsers can be late: `npm run conformance` lists each second try, and fails at more than a few. */
const canBeLate: Settings = { retry: 1, testTimeout: 60_000 };
const built: Settings = { ...canBeLate, globalSetup: ['test/support/global-setup.ts'] };

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
    maxWorkers: Math.ceil(availableParallelism() * 2.5),
    sequence: { sequencer: SharedLast },
    projects: [
      project('unit', { ...together, include: unit, exclude: [...programs, ...long] }),
      project('packages', {
        ...together,
        ...canBeLate,
        include: inPackages,
        exclude: [...unit, ...programs, ...alone, ...long],
      }),
      project('programs', { ...together, ...built, include: programs, exclude: [...alone, ...long] }),
      project('alone', { ...built, include: alone, exclude: long }),
      project('long', { ...built, include: long }),
    ],
  },
});
