/** Finds out for users of the library what the kernel of this machine can enforce. */

import { mechanisms } from '../containment.ts';
import { classObstacles, strongestFirst } from './own-host.ts';
import type { Probe } from './requests.ts';

/**
 * Finds out which class this machine can enforce by enforcing each around a process of its own; no version is looked at. It is done once a
 * process, and nothing is kept on disk. Takes some 50 ms the first time.
 */
export async function probe(): Promise<Probe> {
  const obstacles = await classObstacles();
  const found = strongestFirst.find((each) => obstacles[each] === null) ?? null;
  const stronger = strongestFirst.slice(0, found === null ? undefined : strongestFirst.indexOf(found));
  const reasons = [...new Set(stronger.map((each) => obstacles[each]))];
  return {
    class: found,
    mechanism: found === null ? 'none' : mechanisms[found],
    reason: reasons.length === 0 ? null : reasons.join('; '),
    obstacles,
  };
}
