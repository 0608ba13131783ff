import { readdirSync, readFileSync } from 'node:fs';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Threads of all processes of a user, which is what the kernel holds against `RLIMIT_NPROC`. 0 where the system does not tell. */
export function countThreads(uid: number): number {
  let threads = 0;
  for (const name of unlessRefused(() => readdirSync('/proc'), [])) {
    if (/^\d+$/.test(name)) threads += threadsOf(`/proc/${name}/status`, uid);
  }
  return threads;
}

function threadsOf(path: string, uid: number): number {
  // Empty where it has ended meanwhile, or is not ours to see.
  const status = unlessRefused(() => readFileSync(path, 'latin1'), '');
  const owner = /^Uid:\t(\d+)/m.exec(status)?.[1];
  return owner === String(uid) ? Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1) : 0;
}
