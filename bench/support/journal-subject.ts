/** Writes the journals of long sessions. */

import { RecordedSession } from '../../packages/record/test/journal/recorded-session.ts';

/** What a recorded session is to have. */
export interface Wanted {
  /** The last digits of its id. */
  readonly session: string;
  /** Questions to the model and commands, in turn. */
  readonly steps: number;
  /** The output of the last command. */
  readonly last: string;
  /** Characters of each other output. */
  readonly output: number;
}

/** Writes the journal of a session of one task below `root`. */
export function writeSession(root: string, { session, steps, last, output }: Wanted): void {
  const limits = { maxBody: 8 * 1024 * 1024, maxBytes: 4 * 1024 * 1024 * 1024 };
  const recorded = new RecordedSession(root, { session, limits });
  recorded.task('Look at all of it.');
  for (let turn = 1; turn <= steps / 2; turn += 1) {
    recorded.model(`Step ${turn}.`, ['sh']);
    recorded.shell(`look ${turn}`, turn === steps / 2 ? last : `${turn} `.padEnd(output, 'x'));
  }
  recorded.taskEnd().close();
}
