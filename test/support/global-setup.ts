/** Builds the programs before any test runs. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The programs and the component worker run from `dist`, so the tests see what a user runs. `SVC_TEST_DIST=built` says that it is up to date. */
export default function setup(): void {
  if (process.env['SVC_TEST_DIST'] === 'built') return;
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
  // Each project of the tests has this done.
  process.env['SVC_TEST_DIST'] = 'built';
}
