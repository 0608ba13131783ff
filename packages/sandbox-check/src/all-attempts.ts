/** Lists every attempt to break out. */

import type { Attempt } from './attempt.ts';
import { launchAttempts } from './launch-attempts.ts';
import { executionAttempts } from './execution-attempts.ts';
import { fileAttempts } from './file-attempts.ts';
import { kernelAttempts } from './kernel-attempts.ts';
import { limitAttempts } from './limit-attempts.ts';
import { networkAttempts } from './network-attempts.ts';

/** Every attempt, each under a name of its own. */
export const allAttempts: readonly Attempt[] = [
  ...fileAttempts,
  ...executionAttempts,
  ...kernelAttempts,
  ...networkAttempts,
  ...limitAttempts,
  ...launchAttempts,
];
