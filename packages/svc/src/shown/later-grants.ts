/** Shows what a person granted to a session while it ran. */

import { shownMinute } from '@svc/kit/shown-values.ts';
import type { LaterGrant } from '@svc/record/sessions/later-grants.ts';
import { inertJson } from '@svc/kit/diagnostics/printable.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';

const far = { once: 'for one command', session: 'from then on' } as const;

/** A row each below a title; empty without any. */
export function laterGrantRows(grants: readonly LaterGrant[]): Shown {
  if (grants.length === 0) return say``;
  return joined([
    say`granted while it ran:\n`,
    ...grants.map((each) => say`  ${shownThing(each)} ${far[each.option]}, by ${each.by} at ${shownMinute(each.at)}\n`),
  ]);
}

function shownThing(thing: LaterGrant): string {
  if ('write' in thing) return `writing in ${inertJson(thing.write)}`;
  return inertJson('host' in thing ? thing.host : thing.program);
}
