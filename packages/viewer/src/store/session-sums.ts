/** The figures of a session, in the order in which they are shown everywhere. */

import { now } from '../text/page-clock.ts';
import { count, duration } from '../text/words.ts';
import type { Session } from './session.ts';

export interface Sum {
  readonly label: string;
  readonly value: number;
  readonly show: (value: number) => string;
  /** The greater, the sooner a narrow page leaves it out. */
  readonly rank: number;
}

export const failedLabel = 'Failed';

export function sumsOf({ count: rows, columns, live, start, sums }: Session): readonly Sum[] {
  const { modelCalls, input, output, failed } = sums.value;
  const startedAt = start.value?.startedAt ?? 0;
  // A session that runs takes time without a line, such as while it waits for an answer.
  const soFar = live.value === null || startedAt === 0 ? 0 : now() - startedAt;
  return [
    { label: 'Time', value: rows.value === 0 ? 0 : Math.max(columns.end, soFar), show: duration, rank: 0 },
    { label: 'Lines', value: rows.value, show: count, rank: 0 },
    { label: 'Model calls', value: modelCalls, show: count, rank: 2 },
    { label: 'Tokens in', value: input, show: count, rank: 1 },
    { label: 'Tokens out', value: output, show: count, rank: 1 },
    { label: failedLabel, value: failed, show: count, rank: 0 },
  ];
}
