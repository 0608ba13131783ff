/** Stands in for the measure of a workdir that is never full. */

import type { WorkdirSize } from '@svc/session/workdir/workdir-size.ts';

/** A workdir that holds nothing, whenever it is measured. */
export const roomyWorkdir: Pick<WorkdirSize, 'begin' | 'check' | 'settled' | 'last' | 'breached'> = {
  begin: () => {},
  check: async () => {},
  settled: async () => {},
  last: async () => {},
  breached: new AbortController().signal,
};
