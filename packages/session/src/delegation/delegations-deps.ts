/** What delegations need of their session and of the machine. */

import type { CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { ContextId, DelegationId, SessionId } from '@svc/protocol/ids.ts';
import type { Trust } from '@svc/protocol/task-origin.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { ChildKey } from './child-key.ts';
import type { SessionReferee } from './session-referee.ts';

/** What the local stores know of the artifact that a referee approved. */
export type ChildReading =
  | {
      readonly kind: 'read';
      /** The child's `capabilities.env.allow`. */
      readonly envAllow: readonly string[];
      /** Whether it may have questions for a person: its own, or those of capsules that it starts. */
      readonly mayAsk: boolean;
    }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'not-read'; readonly reason: string };

/** How a launcher reports an end to its own session. */
export interface CompletionDelivery {
  readonly text: string;
  readonly contextId: ContextId;
  /** Where the conversation of the task that delegated is kept. */
  readonly conversation: ContextId;
  readonly trust: Trust;
  readonly delegationId: DelegationId;
}

/** What a delegation takes over of the task that asks for it. */
export interface TaskFacts {
  readonly contextId: ContextId;
  /** Where the conversation of the task is kept. */
  readonly conversation: ContextId;
  readonly trust: Trust;
}

/** What delegations need of the session that makes them, and of the machine. */
export interface DelegationsDeps {
  readonly referee: SessionReferee;
  /** This session's own; it can reach the referee only. */
  readonly credential: Secret;
  readonly sessionId: SessionId;
  /** This capsule's own endpoint, `http://host:port`. */
  readonly url: string;
  /** The accessible workdir, links resolved. */
  readonly workdir: string;
  /** Makes `<workdir>/.svc/children/<directory>` owner-only, following no link; gives its absolute path. Throws a Diagnostic. */
  readonly makeChildDirectory: (directory: string) => string;
  /** Makes a directory outside of every workdir, in which a child keeps its sessions: its working directory. Throws a Diagnostic. */
  readonly makeChildRoot: (directory: string) => string;
  /** Puts a file of the runtime's own into a child's directory, whole, following no link. Throws a Diagnostic. */
  readonly writeChildFile: (childDirectory: string, name: string, text: string) => void;
  /** What a child is started from: a bare command name or an absolute path, and what stands before the arguments of `svc`. */
  readonly program: { readonly command: string; readonly args: readonly string[] };
  /** This capsule's process: a child ends with it, however it ends. */
  readonly pid: number;
  /** How long a child has between being asked to end and being ended. */
  readonly childGraceMs: number;
  /** What this session keeps of itself: its children keep no more. */
  readonly capture: CaptureLevel;
  /** The folder that a child sees if its manifest asks for it, as `--project-of-parent` has it; null without one. */
  readonly project: string | null;
  /** The process environment of this capsule. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `capabilities.env.allow` of this capsule. */
  readonly envAllow: readonly string[];
  /** `capabilities.spawn.allow` of this capsule. */
  readonly spawnAllow: readonly string[];
  readonly readChild: (child: {
    readonly name: string;
    readonly version: string;
    readonly sha256: string;
  }) => Promise<ChildReading>;
  /** The child-watch bound. */
  readonly deadlineMs: number;
  /** What is known of a live task; null once the task is forgotten. */
  readonly taskFacts: (taskId: string) => TaskFacts | null;
  /** Gives a completion to this session's own queue; null when it is accepted, else a clause why not. */
  readonly deliver: (delivery: CompletionDelivery) => string | null;
  /** Takes known secrets out of what a child wrote. */
  readonly redact: (text: string) => string;
  /** Writes a line of the trace outside of a call. False once that is impossible. */
  readonly record: (event: TraceEvent) => boolean;
  /** Writes one line to standard error. */
  readonly warn: (line: string) => void;
  readonly clock: Clock;
  /** A session that sends no telemetry has null here. */
  readonly telemetry: DelegatedTelemetry | null;
}

/** What children receive, so that their telemetry goes where this session's goes and belongs to the same trace. */
export interface DelegatedTelemetry {
  /** The variables that say where, which their environment does not have: JSON without a line feed. */
  readonly variables: string;
  /** The span that the task of a child hangs on. */
  readonly traceparent: (taskId: string, delegationId: DelegationId) => string | null;
}

/** What `delegate-task` asks for. */
export interface DelegationRequest {
  readonly capsule: string;
  readonly version: string;
  /** The child's whole input. */
  readonly task: string;
}

/** How far a delegation got (D2 "Delegation call status"). */
export type StartOutcome =
  | {
      readonly kind: 'started';
      readonly delegationId: DelegationId;
      /** The child's. */
      readonly sessionId: SessionId;
      /** Relative to the parent's accessible workdir. */
      readonly childWorkdir: string;
    }
  | {
      readonly kind: 'failed';
      readonly delegationId: DelegationId;
      /** It is null when the child never reported it. */
      readonly sessionId: SessionId | null;
      readonly reason: string;
    }
  /** The referee's own sentence. */
  | { readonly kind: 'refused'; readonly sentence: string };

/** A child that runs, as `session/stop` names it (docs/protocol.md "session/stop"). */
export interface RunningDelegation {
  readonly delegationId: DelegationId;
  readonly sessionId: SessionId;
  readonly capsule: string;
  readonly version: string;
  /** Relative to the parent's accessible workdir. */
  readonly childWorkdir: string;
}

/** A child that shows its token: what its parent knows of it, and nothing that it says of itself. */
export interface AskingChild {
  readonly delegationId: DelegationId;
  /** The child's. */
  readonly sessionId: SessionId;
  readonly capsule: string;
  /** The task that delegated. */
  readonly taskId: string;
  readonly contextId: ContextId;
  readonly conversation: ContextId;
  readonly key: ChildKey;
  /** Settles once nothing of it runs any more. */
  readonly over: Promise<void>;
}

/** A delegation whose child may still report its end. */
export interface OpenDelegation {
  readonly contextId: ContextId;
  readonly conversation: ContextId;
  readonly trust: Trust;
  /** Closes it: the session accepted the child's completion, which has this text. Once. */
  complete(text: string): void;
}
