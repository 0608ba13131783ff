/** The request behind `svc run`, and what it reports of the running capsule. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import type { ActivityListener, OutputListener } from '@svc/session/task/activity.ts';
import type { InitialTask } from './initial-task.ts';
import type { Retained } from '@svc/record/sessions/journal-retention.ts';
import type { Driver, Message } from '@svc/session/model/driver.ts';
import type { SessionOutcome } from '@svc/session/session.ts';
import type { ChildKey } from '@svc/session/delegation/child-key.ts';
import type { FailedTask } from '@svc/session/task/task.ts';
import type { FetchObserver } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import type { Environment } from '@svc/kit/environment.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { Preopen } from '@svc/components/component.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { FolderChanges } from '@svc/sandbox/folder-changes.ts';
import type { ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { ApprovalAnswer } from '@svc/protocol/approval.ts';
import type { Widening } from '@svc/session/approvals/wanted-grants.ts';
import type { QuestionName } from '@svc/protocol/question.ts';
import type { DeclaredReach } from './capsule-reach.ts';

/** The request behind `svc run`. */
export interface RunRequest {
  /** Path of the manifest, as given. */
  readonly manifestFile: string;
  /** The content of the manifest, where svc has read and checked it already. */
  readonly manifestText?: string;
  /** A capsule of the store instead of the manifest file (docs/cli.md "svc run"); with a hash, only in the archive that has it. */
  readonly published: { readonly name: string; readonly version: string; readonly sha256?: string } | null;
  /** A capsule without a file, of `svc "task"`; absent where there is a manifest. */
  readonly adhoc?: AdhocCapsule;
  /** The folder of `capabilities.project`, where the manifest does not name it. */
  readonly project?: NamedProject;
  /** The folder that an editor has opened, absolute: that of `capabilities.project` where the manifest has it, else the workdir. `placedRequest` says which. */
  readonly openFolder?: string;
  /** The accessible workdir itself; null makes a fresh one named by the session. */
  readonly workdir: string | null;
  /** Whether a session may change what git runs in a named workdir. */
  readonly writesGit: boolean;
  /** The approval of its launch; null for one that no capsule delegated to (D2 "Tokens"). */
  readonly approval: Secret | null;
  /** Whether the process of the capsule that delegates still lives; absent where nobody knows. */
  readonly isParentThere?: (() => boolean) | undefined;
  /** With which it asks the capsule that delegates for approvals; absent where it asks nobody. */
  readonly askKey?: ChildKey;
  /** Given by the capsule that delegates; null mints one. */
  readonly sessionId: SessionId | null;
  /** How long the end of the session may take once `stop` is aborted. */
  readonly stopWithinMs: number;
  /** `--task` as given. */
  readonly task: string | undefined;
  /** Reads the text of `--task -`; called at most once, when nothing refuses the launch so far. */
  readonly readTask: () => Promise<string>;
  /** `--capture`; the manifest decides without it. */
  readonly capture: CaptureLevel | undefined;
  /** The capture level of the capsule that delegates: its children keep no more. */
  readonly parentCapture: CaptureLevel | undefined;
  readonly bind: string;
  readonly readEnvFile: boolean;
  /** Sources of artifacts that are not on this machine; empty with `--offline`. */
  readonly sources: StorePlaces['sources'];
  /** Called with the progress of downloads. */
  readonly fetchObserver: FetchObserver | null;
  /** `--containment`. */
  readonly floor: ContainmentClass | undefined;
  readonly cwd: string;
  readonly home: string;
  /** The process environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Decides where telemetry goes: the process environment, or what the capsule that delegates has handed on. */
  readonly telemetryEnv: Environment;
  /** The build of this program, which names its caches; absent where it runs from its sources, and caches nothing. */
  readonly build?: string;
  /** Aborted to ask for a clean stop. */
  readonly stop: AbortSignal;
  /** The changes that a script or a chat makes to the session; null for every other run. */
  readonly changes: RunChanges | null;
  /** Makes the driver that answers instead of the manifest's; it takes secrets out of its failures with `redact`. Absent where the manifest's answers. */
  readonly driver?: ((redact: (text: string) => string) => Driver) | undefined;
  /** Where a person is shown questions and can answer them: at this terminal, in the editor that started this; null where nobody is there. */
  readonly askedAt?: () => 'terminal' | 'acp' | null;
  /** Called with everything that happens in the session; null where nobody looks. */
  readonly onActivity: ActivityListener | null;
  /** Called with the session as soon as its listener answers, for clients that reach it without one. */
  readonly onDoor?: (door: CapsuleDoor) => void;
}

/** A capsule without a file, which may look at a folder (docs/first-minute.md). */
export interface AdhocCapsule {
  /** The manifest as `svc.yaml` would hold it. */
  readonly text: string;
  /** Its workspace, absolute. */
  readonly root: string;
  readonly project: GivenProject;
  /** What the person at the terminal may grant while it runs; absent where nobody is there, or nothing would hold commands. */
  readonly widening?: Widening;
  /** Warnings about what its flags ask for and it does not get. */
  readonly warnings: readonly Diagnostic[];
}

/** A folder that is named for one run. */
export interface NamedProject {
  /** Absolute. */
  readonly path: string;
  /** What the capsule that delegates has of it: a child has no more. Absent for `--project`. */
  readonly ofParent?: { readonly write: boolean; readonly mask: readonly string[] };
  /** Whether it is open in an editor: a folder that the manifest names is in it then, or around it. */
  readonly isOpen?: true;
}

/** The part of the workdir that a component sees. */
export interface ScopeGrant {
  readonly scope: string;
  readonly writable: boolean;
}

/** A folder of the host that a session sees as `project/` of its workdir, or that is its workdir. */
export interface GivenProject {
  /** The grant for its programs. */
  readonly grant: Pick<ProcessGrants, 'project'>;
  /** The part for its trace and the scope report. */
  readonly scope: Pick<ScopeObject, 'project_folder'>;
  /** The same folder for programs that may write in it since a person has granted that, kept and masked as for those that may from the start. Throws the Diagnostic of what cannot be. */
  written(): GivenProject;
  /** Called before each launch: makes the place in the workdir, and finds what to mask now. Throws a Diagnostic. */
  prepare(workdir: string): void;
  /** What became of the folder so far; null where nothing in it could be changed, and for a workdir. */
  changes(): FolderChanges | null;
  /** Called once all that ran in the session has ended: makes harmless what git would obey in repositories that a task made. */
  end(tell: (warning: Diagnostic) => void): void;
  /** The directories of a component beside its part of the workdir; adds those that the session has to close to `held`. */
  preopens(grant: ScopeGrant, held: HeldDirectory[]): readonly Preopen[];
  /** The masked and read-only places of the workdir for a component. `E-CAP-002` if it would see nothing else. */
  mask(grant: ScopeGrant): Partial<Preopen>;
  /** Whether this path of the workdir is masked, so that no door serves it. The path has no links. */
  readonly hides: (path: string) => boolean;
}

/** The differences of a session that a script started to get one answer (docs/scripts.md), or a chat. */
export interface RunChanges {
  /** The manifest with the lifecycle and the limits of this run. */
  readonly settle: (manifest: CapsuleManifest) => CapsuleManifest;
  /** The first task, null without one; `find` looks where every other run does. */
  readonly task: (find: () => Promise<InitialTask | null>) => Promise<InitialTask | null>;
  /** Separates the conversations of this run from all others in the same workdir; absent to use those of the workdir. */
  readonly thread?: string;
  /** A person types to the session, and may run commands of their own in it. */
  readonly hasPerson?: true;
  /** The session that this one goes on with; absent where it begins anew. */
  readonly continues?: ContinuedSession;
}

/** An ended session, as far as another one goes on with it. */
export interface ContinuedSession {
  readonly session: SessionId;
  /** The conversation, which ends with a message of the assistant; empty where nothing was said. */
  readonly messages: readonly Message[];
  /** The model that said it; null where none was asked. */
  readonly model: string | null;
}

/** A capsule whose port is bound (D1 "Run result line"). */
export interface RunningCapsule {
  /** `localhost:<port>`, also under `--bind 0.0.0.0`. */
  readonly url: string;
  /** `host:port` that the listener answers on: its own address when it was bound to one. */
  readonly reachableAt: string;
  readonly pid: number;
  readonly sessionId: SessionId;
  readonly name: string;
  readonly version: string;
  /** The accessible workdir, absolute. */
  readonly workdir: string;
  /** Where its sessions are kept, absolute. */
  readonly state: string;
  /** What it sees as `project/`, absolute; null without one. */
  readonly project: string | null;
  /** The artifact for `transport: http`, the command for `transport: process`. */
  readonly driver: string;
  readonly model: string;
  /** Whether it begins with a task; without one it waits for a message. */
  readonly hasTask: boolean;
  /** Declared skills. */
  readonly skills: number;
  /** The input of `reachOf`, which derives hosts and variables from it. */
  readonly launch: DeclaredReach;
  /** What became of its folder so far; null without one, and where nothing in it could be changed. */
  readonly changes: () => FolderChanges | null;
}

/** What the person at the terminal may do to a session. */
export interface Steering {
  /** Answers that question; false when its task does not ask it any more. */
  answer(question: QuestionName, text: string): boolean;
  /** Answers an approval. Returns null once that is settled, else why it is not, as a clause. */
  decide(answer: ApprovalAnswer): string | null;
  /** Cancels that task, if it has not ended. */
  cancel(taskId: string): void;
  /** Passes on the output of the commands of the session, as the bytes come. Call the returned function to stop. */
  hearOutput(listener: OutputListener): () => void;
  /** Takes the secrets of the capsule out of that output. */
  readonly redact: (text: string) => string;
}

/** Gets the events of a run while it goes on. */
export interface RunObserver {
  onWarning(warning: Diagnostic): void;
  /** Called once, as soon as the port is bound and before the agent loop. */
  onListening(capsule: RunningCapsule, steering: Steering): void;
  onFrame(frame: NumberedFrame, id: EventId): void;
  /** Called before the task's last frame. */
  onTaskFailed(failed: FailedTask): void;
  /** Journals of earlier sessions were beyond `trace.keep`. */
  onRetained(retained: Retained): void;
}

export type RunOutcome = SessionOutcome;
