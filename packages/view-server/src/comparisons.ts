/** Compares the journals of two sessions for a page, a part at a time: whatever else it shows goes on meanwhile. */

import { busy, HttpRefusal } from '@svc/kit/http/refusal.ts';
import { runYielding } from '@svc/kit/yield-to-loop.ts';
import type { ViewedComparison } from '@svc/protocol/viewed-session.ts';
import { comparing, type Comparison } from '@svc/record/journal/comparison.ts';
import { saidOf } from './said-divergence.ts';
import type { ViewedSession } from './viewed-session.ts';

/** What `svc trace diff --json` says, the same in words, and what was found damaged on the way. */
interface ComparisonAnswer extends Comparison {
  readonly said: ViewedComparison['said'];
  readonly notes?: readonly string[];
}

export class Comparisons {
  #isRunning = false;

  /** 503 while another one runs, after which a page asks again; 404 `E-RUN-071` where one of the two has no journal. */
  async of(a: ViewedSession, b: ViewedSession): Promise<ComparisonAnswer & ViewedComparison> {
    if (this.#isRunning) throw busy();
    this.#isRunning = true;
    try {
      return await compared(a, b);
    } finally {
      this.#isRunning = false;
    }
  }
}

async function compared(a: ViewedSession, b: ViewedSession): Promise<ComparisonAnswer> {
  const first = openedJournal(a);
  try {
    const second = openedJournal(b);
    try {
      const steps = comparing({ session: a.id, reader: first.reader }, { session: b.id, reader: second.reader });
      const { comparison, damage } = await runYielding(steps);
      const { parting } = comparison;
      const answer = { ...comparison, said: parting === null ? null : saidOf(parting) };
      if (damage === null) return answer;
      const note = `A journal is damaged: a record ${damage.why}. What stands behind it was not compared.`;
      // A step that one of them lacks may stand behind the damage.
      return parting?.kind === 'missing'
        ? { ...comparison, said: null, parting: null, notes: [note] }
        : { ...answer, notes: [note] };
    } finally {
      second.close();
    }
  } finally {
    first.close();
  }
}

function openedJournal(session: ViewedSession): NonNullable<ReturnType<ViewedSession['openReader']>> {
  const open = session.openReader();
  if (open !== null) return open;
  throw new HttpRefusal(404, 'E-RUN-071', 'Two sessions are compared by their journals, and one of these has none.');
}
