/** Says what rules of `approvals` decide in the middle of calls. */

import type { Approvals, MatchedCall } from './approvals.ts';

/** The tools that rules of paths name. */
export function toolsOfPaths(approvals: Pick<Approvals, 'rules'> | undefined): ReadonlySet<string> {
  const matches = (approvals?.rules ?? []).flatMap((rule) => Object.values(rule) as MatchedCall[]);
  return new Set(matches.flatMap(({ tool, path }) => (tool === undefined || path === undefined ? [] : [tool])));
}

/** Whether a rule decides about programs that commands start: it asks about commands or denies them. */
export function decidesPrograms(approvals: Pick<Approvals, 'rules'> | undefined): boolean {
  return (approvals?.rules ?? []).some(({ ask, deny }) => ask?.command !== undefined || deny?.command !== undefined);
}
