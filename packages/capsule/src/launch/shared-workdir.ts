/** Warns when another session works in the same directory. */

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readRunningRecords } from '@svc/record/sessions/running-record.ts';

interface SharedWorkdirQuestion {
  readonly home: string;
  /** The session that asks, which is listed already: of two that begin at the same time at least one finds the other. */
  readonly sessionId: string;
  /** Its accessible workdir, links resolved. */
  readonly workdir: string;
}

/** `W-RUN-060` when another live session of this user works in the same directory, in one below it or in one around it; else null. */
export function sharedWorkdir({ home, sessionId, workdir }: SharedWorkdirQuestion): Diagnostic | null {
  const others = readRunningRecords(home).filter((record) => record.session_id !== sessionId);
  const other =
    others.find((record) => record.workdir === workdir) ??
    others.find((record) => isBeneath(record.workdir, workdir) || isBeneath(workdir, record.workdir));
  if (other === undefined) return null;
  const place =
    other.workdir === workdir
      ? `the workdir ${workdir} is also that of`
      : `the workdir ${workdir} is not apart from ${other.workdir}, the workdir of`;
  const message = `${place} ${other.name}@${other.version}, session ${other.session_id}, process ${other.pid}, which is running`;
  return new Diagnostic('W-RUN-060', message, {
    hint: `each replaces the files of the other: name another directory with --workdir, or end that session with svc stop ${other.session_id}`,
  });
}
