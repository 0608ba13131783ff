import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { findHelper } from '../../../src/host-containment.ts';

const packageRoot = fileURLToPath(new URL('../../../../../', import.meta.url));
const build = fileURLToPath(new URL('../../../../../scripts/build-native.mjs', import.meta.url));

let found: string | null | undefined;

/** The helper as the sources are now; null where it cannot be built. */
export function builtHelper(): string | null {
  if (found !== undefined) return found;
  execFileSync(process.execPath, [build], { stdio: 'pipe' });
  found = findHelper({ packageRoot, platform: process.platform, architecture: process.arch });
  return found;
}

/** The helper; a test that gets here has asked for it. */
export function helperPath(): string {
  const path = builtHelper();
  if (path === null) throw new Error('there is no helper');
  return path;
}
