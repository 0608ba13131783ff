/** Opens what a session is recorded in, and writes its first and its last line. */

import { systemClock } from '@svc/kit/system-clock.ts';
import { elapsedMs } from '@svc/kit/clock.ts';
import type { SessionId, TraceEventId } from '@svc/protocol/ids.ts';
import { recordRedaction } from '../resources/handle-id.ts';
import { SessionActivity } from '../session/activity.ts';
import type { SessionStatus } from '../session/session.ts';
import { traceLines } from '../session/trace-lines.ts';
import type { PreparedText, Trace, TraceEvent } from '../trace/events.ts';
import { openFileTrace } from '../trace/file-trace.ts';
import type { GrantEvidence } from './grant-evidence.ts';
import type { PreparedLaunch } from './prepare.ts';
import { version } from './version.ts';

interface RecordRequest {
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  /** Where the trace is written. */
  readonly trace: string;
  /** The names that the model is offered. */
  readonly tools: readonly string[];
}

/** What the last line says of the whole session. */
interface EndFacts {
  /** That were accepted. */
  readonly tasks: number;
  readonly evidence: ReturnType<GrantEvidence['settle']>;
}

/** What a session is recorded in: its activity, which the trace follows. */
export interface SessionRecord {
  readonly activity: SessionActivity;
  /** Writes a line of the session's own. Throws the Diagnostic of one that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  /** Does the slow part of recording a text of megabytes ahead. */
  readonly prepare: (text: string) => Promise<PreparedText>;
  /** Writes the last line. Throws the Diagnostic of one that cannot be written. */
  readonly end: (status: SessionStatus, reason: string | null, told: EndFacts) => void;
  readonly close: () => void;
}

/** Opens the trace and writes `session_start`. Throws the Diagnostic of a trace that cannot be written; nothing is left open then. */
export function openRecord({ launch, sessionId, trace: path, tools }: RecordRequest): SessionRecord {
  const startedMs = systemClock.monotonicMs();
  const redact = recordRedaction(launch.redactor);
  const trace = openFileTrace({ path, sessionId, ids: systemClock, redact });
  const activity = new SessionActivity();
  try {
    activity.subscribe(traceLines(trace, traceStart(trace, launch, tools)));
  } catch (error) {
    trace.close();
    throw error;
  }
  const record = (event: TraceEvent): void => activity.emit({ kind: 'noted', task: null, event });
  return {
    activity,
    record,
    prepare: (text) => trace.prepare(text),
    end: (status, reason, { tasks, evidence }) => {
      const why = reason === null ? {} : { reason };
      const durationMs = elapsedMs(systemClock, startedMs);
      record({ event_type: 'session_end', status, ...why, tasks, grant_evidence: evidence, duration_ms: durationMs });
    },
    close: () => trace.close(),
  };
}

function traceStart(trace: Trace, { loaded, scope }: PreparedLaunch, tools: readonly string[]): TraceEventId {
  const { name, version: capsuleVersion } = loaded.manifest;
  const { declared, achieved, mechanism } = scope.containment;
  return trace.write(
    {
      event_type: 'session_start',
      capsule: { name, version: capsuleVersion },
      runtime_version: version,
      containment: { declared, achieved, mechanism },
      tools_declared: [...tools],
      effective_grants: { ...scope },
    },
    null,
  );
}
