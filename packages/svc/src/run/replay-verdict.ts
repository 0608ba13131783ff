/** Compares a replay with its recording and its trace, and says where they differ. */

import type { Replayed } from '@svc/capsule/replay/replay-session.ts';
import { type Difference, differenceSince, type Divergence } from '@svc/session/replay/asked-again.ts';
import type { RecordedEnd } from '@svc/session/replay/recorded-history.ts';
import type { ReplayEnd } from '@svc/session/replay/replayer.ts';

/** The end of a replay, after a comparison of the records that the session itself never waits for: how its tasks and it itself ended. */
export function judgedEnd(replayed: Replayed): ReplayEnd {
  const { recording, end } = replayed;
  if (end.kind === 'parted') return end;
  const parting = recording.unfit ?? pastTheEnd(replayed) ?? endDivergence(replayed) ?? closeDivergence(replayed);
  return parting === null ? end : { kind: 'parted', parting };
}

/** The session waits or asks for more, and the recording has ended. */
function pastTheEnd({ recording, end }: Replayed): Divergence | null {
  if (end.kind !== 'cut-off' || recording.close === null) return null;
  return { place: end.place ?? 'session', port: 'close', problem: 'is not over, as the recording says that it was' };
}

/** A recording that was cut off may lack the ends of further tasks. */
function endDivergence({ recording, ends }: Replayed): Divergence | null {
  const port = 'task-end';
  for (const [index, recorded] of recording.ends.entries()) {
    const now = ends[index];
    const { id: place } = recorded;
    if (now === undefined) return { place, port, problem: 'has not ended again' };
    const difference = endDifference(recorded, now);
    if (difference !== null) return { place, port, problem: 'has another end', ...difference };
  }
  const further = ends[recording.ends.length];
  if (further === undefined || recording.close === null) return null;
  return { place: further.id, port, problem: 'ends, and does not in the recording' };
}

function endDifference(recorded: RecordedEnd, now: RecordedEnd): Difference | null {
  // A result that was not kept is not compared.
  const result = recorded.result === undefined ? {} : { result: now.result };
  const { result: _, ...end } = now;
  return differenceSince(recorded, { ...end, ...result });
}

function closeDivergence({ recording, close }: Replayed): Divergence | null {
  if (recording.close === null) return null;
  const { status, reason } = recording.close;
  const difference = differenceSince({ status, reason }, close);
  return difference === null ? null : { place: 'session', port: 'close', problem: 'has another end', ...difference };
}
