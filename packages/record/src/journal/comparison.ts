/** Compares two recorded sessions. */

import type { Steps } from '@svc/kit/yield-to-loop.ts';
import { isToldAlike, divergenceFacts } from './divergence-facts.ts';
import { divergenceSteps } from './compare-sessions.ts';
import type { JournalReader } from './journal-reader.ts';
import type { Damage } from './journal-scan.ts';

interface ComparedJournal {
  readonly session: string;
  readonly reader: JournalReader;
}

/** What `svc trace diff --json` writes of two sessions. */
export interface Comparison {
  readonly a: string;
  readonly b: string;
  /** Is null if they differ in ids and times alone. */
  readonly parting: ReturnType<typeof divergenceFacts> | null;
}

/** Where two sessions differ, and what was found damaged on the way; a part at a time. */
export function* comparing(
  a: ComparedJournal,
  b: ComparedJournal,
): Steps<{ readonly comparison: Comparison; readonly damage: Damage | null }> {
  const damages: Damage[] = [];
  const note = (damage: Damage): void => void damages.push(damage);
  const parting = yield* divergenceSteps(
    () => a.reader.skim(note),
    () => b.reader.skim(note),
    (stepA, stepB) => isToldAlike(stepA, stepB, [a.reader, b.reader]),
  );
  const facts = parting === null ? null : divergenceFacts(parting, a.reader, b.reader);
  return { comparison: { a: a.session, b: b.session, parting: facts }, damage: damages[0] ?? null };
}
