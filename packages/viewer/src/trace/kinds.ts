/** The kinds of rows that a trace has: what a person calls them, and in which lane of the timeline they are drawn. */

import * as flags from '@svc/protocol/row-flags.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';

/** The lanes of the timeline, from top to bottom. */
export const lanes = ['Model', 'Tools', 'Commands', 'Children', 'Waiting'] as const;

const [model, tools, commands, children, waiting, none] = [0, 1, 2, 3, 4, -1];

/** What a person calls each kind, and its lane. A kind is the place in this list (`protocol/row-kinds.ts`). */
const known: readonly (readonly [label: string, lane: number])[] = [
  ['Session', none],
  ['Task', none],
  ['Attempt', none],
  ['Model', model],
  ['Tool', tools],
  ['Skill', tools],
  ['Command', commands],
  ['Background', commands],
  ['Question', waiting],
  ['Compaction', model],
  ['Hook', none],
  ['Reopened', none],
  ['Canceled', none],
  ['Task end', none],
  ['Ceiling', none],
  ['Files asked for', none],
  ['File asked for', none],
  ['Refusals', none],
  ['Shared file', none],
  ['Shared file', none],
  ['Fetched file', none],
  ['Child', children],
  ['Plan', none],
  ['Plan step', tools],
  ['Plan', none],
  ['Logs', none],
  ['Notifications', none],
  ['Session end', none],
  ['Refusal', none],
  ['Refusals', none],
  ['Connection', none],
  ['File', none],
  ['Retry', none],
  ['Approval', waiting],
  ['Plan step', commands],
  ['Plan step', children],
  ['Model', model],
  ['Stop', none],
];

/** The lane of each kind; -1 for one that is in none. */
export const laneOfKind: Int8Array = new Int8Array(256).fill(none);
for (const [index, [, lane]] of known.entries()) laneOfKind[index] = lane;

export function labelOf(kind: number): string {
  return known[kind]?.[0] ?? (kind === kinds.damaged ? 'Damaged line' : 'Step');
}

/** Rows that "Failed only" leaves; `exited` is a command that ended with another code than 0, as its detail says first. */
export const wentWrong: number = flags.failed | flags.refused | flags.exited;
