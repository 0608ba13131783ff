/** Knows rows that say again what a refusal before them has said: the call itself, or the connections of a host. */

import * as kinds from '@svc/protocol/row-kinds.ts';
import { isCall, isPlanStep } from '@svc/protocol/row-kinds.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import type { Columns } from './columns.ts';

/** Asked for rows in their order, each once. */
export function tellsAgain(columns: Columns): (row: number) => boolean {
  /** By task and name: of calls until their own lines. */
  const refused = new Set<string>();
  return (row) => {
    const kind = columns.kindOf(row);
    if (refused.size === 0 && kind !== kinds.refusal) return false;
    const asked = `${columns.taskOf(row)} ${columns.nameOf(row)}`;
    if (kind === kinds.refusal) refused.add(asked);
    if (kind === kinds.egress) return (columns.flagsOf(row) & flags.refused) !== 0 && refused.has(asked);
    return (isCall(kind) || isPlanStep(kind)) && refused.delete(asked);
  };
}
