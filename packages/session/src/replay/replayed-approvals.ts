/** Gives a session that is run again the approvals of its recording: nobody is asked, and nothing is written. */

import { Approvals } from '../approvals/approvals.ts';
import type { Recorder } from '../recorder/recorder.ts';

/** What was decided comes from the recorder, whatever the rules are today. */
export function replayedApprovals(recorder: Recorder, capsule: string): Approvals {
  return new Approvals({
    rules: { default: 'allow', opaque: 'ask', rules: [] },
    ways: [],
    timeoutMs: 1000,
    recorder,
    clock: { now: () => 0 },
    log: { write: () => {}, close: () => {} },
    unattended: async () => null,
    capsule,
    redact: (text) => text,
  });
}
