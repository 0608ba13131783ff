/** Keeps the last results of a chat, which `/show` prints whole, its last answer, and the messages that were sent from it. */

import type { ShownResult } from '../shown/session-event.ts';

const maxResults = 100;
/** Characters that a chat holds of results, and of an answer. */
export const maxHeld: number = 16 * 1024 * 1024;

/** A result, and the number under which it is shown again. */
export interface KeptResult {
  readonly number: number;
  readonly result: ShownResult;
}

/** As many as are kept; the newest one whatever its length. */
export function lastOf(results: readonly KeptResult[]): KeptResult[] {
  let held = 0;
  const tooMuch = results.findLastIndex(({ result }, index) => {
    held += result.content.length;
    return results.length - index > maxResults || (held > maxHeld && index < results.length - 1);
  });
  return results.slice(tooMuch + 1);
}

/** The answer to a task, as it streamed: all of it, or its beginning. */
export interface KeptAnswer {
  readonly text: string;
  readonly isCut: boolean;
}

export const noAnswer: KeptAnswer = { text: '', isCut: false };

/** A message that was sent from here and may wait. */
export interface SentMessage {
  readonly taskId: string;
  readonly text: string;
  /** The skills that it named. */
  readonly skills: readonly string[];
}
