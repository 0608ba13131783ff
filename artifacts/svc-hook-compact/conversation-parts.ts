/** Splits a conversation into what stays as it is and what is summed up. */

import { textOf } from '@svc/guest/provider/conversation.ts';
import type { Message } from '@svc/guest/driver.ts';

/** A message of the user, or one of the assistant with the results of its calls: what stays or goes together. */
export type Unit = readonly Message[];

export interface Parts {
  /** What the conversation began with. */
  readonly first: Message;
  readonly older: readonly Unit[];
  /** What the user said last, where it is among the older: the task at hand must not get lost. */
  readonly asked: Message | null;
  /** The newest, at least the last unit. */
  readonly latest: readonly Unit[];
}

/** How every summary begins, and how an earlier one is known. */
export const summaryMark = '[Summary of the earlier conversation, written by the model to save room.';

/** Splits a conversation between its units; `latest` takes at most `latestCharacters`, except for its last unit. Returns null if nothing is older. */
export function partsOf(messages: readonly Message[], latestCharacters: number): Parts | null {
  const [firstUnit, ...units] = unitsOf(messages);
  const first = firstUnit?.[0];
  if (first === undefined || firstUnit?.length !== 1) return null;
  let from = Math.max(0, units.length - 1);
  let left = latestCharacters - sizeOf(units[from] ?? []);
  while (from > 0 && left >= sizeOf(units[from - 1] ?? [])) {
    from -= 1;
    left -= sizeOf(units[from] ?? []);
  }
  const older = units.slice(0, from);
  if (older.length === 0) return null;
  const asked = older.flat().findLast((message) => message.tag === 'user' && !isSummary(message)) ?? null;
  const latest = units.slice(from);
  const isAskedLater = latest.flat().some((message) => message.tag === 'user' && !isSummary(message));
  return { first, older, asked: isAskedLater ? null : asked, latest };
}

/** By the length of its JSON, as the runtime estimates it. */
export function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

export function isSummary(message: Message): boolean {
  return message.tag === 'user' && textOf(message.val).startsWith(summaryMark);
}

function unitsOf(messages: readonly Message[]): readonly Unit[] {
  const units: Message[][] = [];
  for (const message of messages) {
    const last = units.at(-1);
    if (message.tag === 'tool' && last !== undefined) last.push(message);
    else units.push([message]);
  }
  return units;
}
