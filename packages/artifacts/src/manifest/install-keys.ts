/** Which keys of a capsule's manifest decide what is installed and packed; the variables of others need not be set for that. */

import type { KeyPath } from './key-path.ts';

const ofEntry = new Set(['name', 'version', 'runtime', 'source']);
const ofInference = new Set(['transport', 'system_prompt_file', 'driver.artifact', 'driver.config.script']);

/** Whether an install or a package depends on the value at this path. */
export function decidesInstall([block, ...path]: KeyPath): boolean {
  switch (block) {
    case 'name':
    case 'version':
      return true;
    case 'artifacts':
      return path.length === 1 || (path.length === 2 && ofEntry.has(String(path[1])));
    case 'inference':
      return ofInference.has(path.join('.'));
    default:
      return false;
  }
}
