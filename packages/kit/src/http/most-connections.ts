/** How many connections a server may hold with the open files it is allowed. */

import { readFileSync } from 'node:fs';

import { unlessRefused } from '../files/unless-refused.ts';

/** How many connections a server takes at once: what else a process opens must not depend on who connects to it. */

const most = 20_000;
/** Where the system does not tell. */
const usualOpenFiles = 1_024;

/** Half of the files this process may have open, 20,000 at most. */
export function mostConnections(): number {
  return Math.min(most, Math.floor(openFilesLimit() / 2));
}

function openFilesLimit(): number {
  const limits = unlessRefused(() => readFileSync('/proc/self/limits', 'latin1'), '');
  const limit = /^Max open files +(\d+|unlimited)/m.exec(limits)?.[1];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit ?? usualOpenFiles);
}
