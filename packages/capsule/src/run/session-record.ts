/** Opens what a session is recorded in, and writes its first and its last line. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { elapsedMs } from '@svc/kit/clock.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { version } from '@svc/kit/version.ts';
import type { SessionId, TraceEventId } from '@svc/protocol/ids.ts';
import type { PreparedText, Trace, TraceEvent } from '@svc/record/trace/events.ts';
import { openFileTrace } from '@svc/record/trace/file-trace.ts';
import { SessionActivity } from '@svc/session/task/activity.ts';
import type { SessionStatus } from '@svc/session/session.ts';
import { traceLines } from '@svc/session/replay/trace-lines.ts';
import type { DeliveredSignals } from '@svc/telemetry/exporter.ts';
import type { RecordedUsage } from '../stage/grant-usage.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { ContinuedSession } from '../launch/running-capsule.ts';
import type { SessionTelemetry } from './telemetry/session-telemetry.ts';

interface RecordRequest {
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  /** Where the trace is written. */
  readonly trace: string;
  /** The names that the model is offered. */
  readonly tools: readonly string[];
  /** Artifact or command. */
  readonly driver: string;
  /** The session that this one goes on with. */
  readonly continues: Pick<ContinuedSession, 'session'> | undefined;
  /** Hears of all that is written; null where nobody does. */
  readonly telemetry: SessionTelemetry | null;
}

/** What the last line says of the whole session. */
interface EndFacts {
  /** Tasks that were accepted. */
  readonly tasks: number;
  readonly grantUsage: RecordedUsage;
}

/** What a session is recorded in: its activity, which the trace follows. */
export interface SessionRecord {
  readonly activity: SessionActivity;
  /** Writes a line of the session's own. Throws the Diagnostic of one that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  /** Does the slow part of recording a text of megabytes ahead. */
  readonly prepare: (text: string) => Promise<PreparedText>;
  /** Writes the last line. Throws the Diagnostic of one that cannot be written. */
  readonly end: (end: SessionEnd, told: EndFacts) => void;
  readonly telemetry: SessionTelemetry | null;
  readonly close: () => void;
}

/** What the last line says. */
export interface SessionEnd {
  readonly status: SessionStatus;
  readonly reason: string | null;
  /** It is null where no telemetry was sent. */
  readonly telemetry: DeliveredSignals | null;
}

/** The end of a session in which nothing has run. */
export function trappedBy({ message }: Diagnostic): SessionEnd {
  return { status: 'trapped', reason: message, telemetry: null };
}

/** Opens the trace and writes `session_start`. Throws the Diagnostic of a trace that cannot be written; nothing is left open then. */
export function openRecord(request: RecordRequest): SessionRecord {
  const { launch, sessionId, trace: path, telemetry } = request;
  const startedMs = systemClock.monotonicMs();
  const redact = recordRedaction(launch.redactor);
  const onWritten = telemetry?.written;
  const trace = openFileTrace({ path, sessionId, ids: systemClock, redact, onWritten });
  const activity = new SessionActivity();
  try {
    activity.subscribe(traceLines(trace, traceStart(trace, request)));
  } catch (error) {
    trace.close();
    throw error;
  }
  if (telemetry !== null) activity.subscribe(telemetry.note);
  const record = (event: TraceEvent): void => activity.emit({ kind: 'noted', task: null, event });
  return {
    activity,
    record,
    prepare: (text) => trace.prepare(text),
    end: ({ status, reason, telemetry: delivered }, { tasks, grantUsage }) => {
      const why = reason === null ? {} : { reason };
      const sent = delivered === null ? {} : { telemetry: delivered };
      const durationMs = elapsedMs(systemClock, startedMs);
      const told = { ...why, tasks, grant_evidence: grantUsage, ...sent };
      record({ event_type: 'session_end', status, ...told, duration_ms: durationMs });
    },
    telemetry,
    close: () => trace.close(),
  };
}

function traceStart(
  trace: Trace,
  { launch: { loaded, scope }, tools, driver, continues }: RecordRequest,
): TraceEventId {
  const { name, version: capsuleVersion } = loaded.manifest;
  const { declared, achieved, mechanism } = scope.containment;
  return trace.write(
    {
      event_type: 'session_start',
      capsule: { name, version: capsuleVersion },
      ...(continues === undefined ? {} : { continues: continues.session }),
      runtime_version: version,
      driver,
      containment: { declared, achieved, mechanism },
      tools_declared: [...tools],
      effective_grants: { ...scope },
    },
    null,
  );
}
