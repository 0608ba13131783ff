import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The programs and the component worker run from `dist`, so the tests see what a user runs. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
}
