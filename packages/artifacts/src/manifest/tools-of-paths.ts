/** Finds the tools whose changes of files are decided by rules of `approvals`. */

import type { Approvals, MatchedCall } from './approvals.ts';

/** The tools that rules of paths name. */
export function toolsOfPaths(approvals: Pick<Approvals, 'rules'> | undefined): ReadonlySet<string> {
  const matches = (approvals?.rules ?? []).flatMap((rule) => Object.values(rule) as MatchedCall[]);
  return new Set(matches.flatMap(({ tool, path }) => (tool === undefined || path === undefined ? [] : [tool])));
}
