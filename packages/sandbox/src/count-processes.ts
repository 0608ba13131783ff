import { readdirSync, readFileSync } from 'node:fs';

/** Threads of all processes of a user, which is what the kernel holds against `RLIMIT_NPROC`. 0 where the system does not tell. */
export function countThreads(uid: number): number {
  let threads = 0;
  for (const name of entriesOf('/proc')) {
    if (/^\d+$/.test(name)) threads += threadsOf(`/proc/${name}/status`, uid);
  }
  return threads;
}

function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return [];
  }
}

function threadsOf(path: string, uid: number): number {
  try {
    const status = readFileSync(path, 'latin1');
    const owner = /^Uid:\t(\d+)/m.exec(status)?.[1];
    return owner === String(uid) ? Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1) : 0;
  } catch (error) {
    // It has ended meanwhile, or is not ours to see.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return 0;
  }
}
