/** Leaves it to chance what random sessions do, and when. */

import { setImmediate, setTimeout } from 'node:timers/promises';

/** True once in so many times. */
export const chance = (of: number): boolean => Math.random() * of < 1;

export function oneOf<Each>(all: readonly Each[]): Each {
  const each = all[Math.floor(Math.random() * all.length)];
  if (each === undefined) throw new Error('there is nothing to choose from');
  return each;
}

/** Nothing, a turn of the event loop or some milliseconds. */
export async function aWhile(): Promise<void> {
  const ms = Math.random() * 4;
  if (ms > 2) await setTimeout(ms - 1);
  else if (ms > 1) await setImmediate();
}
