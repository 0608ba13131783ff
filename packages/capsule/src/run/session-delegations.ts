/** Connects the delegations of a session to its tasks, its files and the referee. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { archiveKind } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { readManifestText } from '@svc/artifacts/store/inspect-content.ts';
import { manifestFile } from '@svc/artifacts/store/installed-artifact.ts';
import { locate } from '@svc/artifacts/store/locate.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { openStored } from '@svc/artifacts/store/open-stored.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Diagnostic, DiagnosticList, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { maxTimerMs } from '@svc/kit/units.ts';
import type { DelegationId, SessionId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { makePrivateDirectory, type SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import { Delegations } from '@svc/session/delegation/delegations.ts';
import type { ChildReading, DelegationsDeps, RunningDelegation } from '@svc/session/delegation/delegations-deps.ts';
import type { Session } from '@svc/session/session.ts';
import { writeWorkdirFile } from '@svc/session/workdir/workdir-file.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { RefereeMembership } from '../launch/referee-membership.ts';
import { asksForTelemetry } from '../launch/telemetry-variables.ts';

interface SessionDelegationsRequest {
  readonly launch: PreparedLaunch;
  readonly membership: RefereeMembership;
  readonly sessionId: SessionId;
  readonly directories: SessionDirectories;
  /** `host:port` of this capsule. */
  readonly url: string;
  /** The process environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** From which telemetry learns where it goes. */
  readonly telemetryEnv: Environment;
  /** What a stop of this session may take. */
  readonly stopWithinMs: number;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** What delegations need of the session, which is there only once its tools are. */
interface DelegatingSession {
  readonly session: Session;
  /** Throws the Diagnostic of a line that cannot be written. */
  readonly record: (event: TraceEvent) => void;
}

/** The children of a session that may delegate. */
export interface SessionDelegations {
  readonly delegations: Delegations;
  /** Before its first task. */
  serve(session: DelegatingSession): void;
  /** Children that go on when the tasks are stopped. */
  residue(): readonly DelegationResidue[];
}

export async function openDelegations(request: SessionDelegationsRequest): Promise<SessionDelegations> {
  const { launch, membership, sessionId, directories, url, env, telemetryEnv, stopWithinMs, onWarning } = request;
  let serving: DelegatingSession | null = null;
  function served(): DelegatingSession {
    if (serving === null) throw new Error('the session has not begun');
    return serving;
  }
  const redact = (text: string): string => launch.redactor.redact(text);
  const tracing = asksForTelemetry(telemetryEnv) ? await import('./telemetry/delegated-telemetry.ts') : null;
  const delegations = new Delegations({
    ...membership,
    ...placesOf(directories),
    sessionId,
    // A child that looked the name up could find another program on the machine's other loopback address.
    url: `http://${url.replace(/^localhost:/, '127.0.0.1:')}`,
    env,
    redact,
    program: programOf(env['SVC_BINARY']),
    pid: process.pid,
    capture: launch.capture,
    project: await projectFor(launch),
    childGraceMs: Math.floor(stopWithinMs * partOfStop),
    envAllow: launch.grants.envAllow,
    spawnAllow: launch.grants.spawnAllow,
    readChild: (child) => readChild(child, launch),
    deadlineMs: deadlineMs(launch.env['SVC_DELEGATION_TIMEOUT_SECS'], launch),
    taskFacts: (taskId) => {
      const task = served().session.board.find(taskId);
      if (task === undefined) return null;
      const { contextId, conversation, trust } = task;
      return { contextId, conversation, trust };
    },
    deliver: ({ text, contextId, conversation, trust }) => {
      // A full queue does not drop the reports of this runtime itself.
      const { kind } = served().session.board.deliver({
        text,
        contextId,
        conversation,
        trust,
        origin: 'completion',
      });
      return kind === 'accepted' ? null : refusals[kind];
    },
    record: (event) => {
      const { record, session } = served();
      const lost = diagnosticOf(() => record(event));
      if (lost !== null) session.trap(lost);
      return lost === null;
    },
    warn: (line) => onWarning(new Diagnostic('W-RUN-008', redact(line))),
    clock: systemClock,
    telemetry: tracing?.delegatedTelemetry(telemetryEnv, (taskId) => served().session.board.find(taskId)) ?? null,
  });
  return {
    delegations,
    serve: (session) => {
      serving = session;
    },
    residue: () => delegations.running.map(residueOf),
  };
}

/** Returns null for a session without a folder: a child that asks for one is refused then. */
async function projectFor({ project }: PreparedLaunch): Promise<string | null> {
  if (project === null) return null;
  const { handedOn } = await import('../launch/granted-folder.ts');
  const handed = handedOn(project);
  return handed === null ? null : JSON.stringify({ path: handed.path, ...handed.ofParent });
}

/** Each level ends its own children before its parent stops waiting, so that no child is left behind. */
const partOfStop = 4 / 9;

const refusals = {
  rejected: 'this session takes no further task (lifecycle.task_acceptance)',
  closed: 'this session takes no more tasks',
} as const;

type Places = Pick<DelegationsDeps, 'workdir' | 'makeChildDirectory' | 'makeChildRoot' | 'writeChildFile'>;

function placesOf({ workdir, session }: SessionDirectories): Places {
  return {
    workdir,
    makeChildDirectory: (directory) => {
      const below = join('.svc', 'children', directory);
      makePrivateDirectory(workdir, below);
      return join(workdir, below);
    },
    makeChildRoot: (directory) => {
      const root = join(session, 'children', directory);
      try {
        mkdirSync(root, { recursive: true, mode: 0o700 });
      } catch (error) {
        throw ioFault(error, `the directory ${root} cannot be made`);
      }
      return root;
    },
    writeChildFile: (childDirectory, name, text) =>
      writeWorkdirFile({ workdir: childDirectory, directory: null, name, content: text }),
  };
}

/** `SVC_BINARY`, else the very program that runs here (D2 "Environment variables"). */
function programOf(binary: string | undefined): DelegationsDeps['program'] {
  if (binary !== undefined && binary.trim() !== '') return { command: binary, args: [] };
  const [, script = ''] = process.argv;
  return { command: process.execPath, args: [...process.execArgv, script] };
}

/** `SVC_DELEGATION_TIMEOUT_SECS` where it is a positive whole number, else the manifest's (docs/delegation.md "What the model sees"). */
function deadlineMs(variable: string | undefined, { loaded }: Pick<PreparedLaunch, 'loaded'>): number {
  const isValid = variable !== undefined && /^\d+$/.test(variable) && Number(variable) > 0;
  const secs = isValid ? Number(variable) : loaded.manifest.lifecycle.delegation_deadline_secs;
  return Math.min(secs * 1000, maxTimerMs);
}

/** What `session/stop` says of a child that goes on (docs/protocol.md "session/stop"). */
interface DelegationResidue {
  readonly kind: 'delegation';
  readonly id: DelegationId;
  /** The child's. */
  readonly session_id: SessionId;
  readonly capsule: string;
  readonly version: string;
  readonly child_workdir: string;
}

function residueOf(running: RunningDelegation): DelegationResidue {
  const { delegationId: id, sessionId: session_id, capsule, version, childWorkdir: child_workdir } = running;
  return { kind: 'delegation', id, session_id, capsule, version, child_workdir };
}

type Child = Parameters<DelegationsDeps['readChild']>[0];

/** The artifact where the child's `svc run` will find it, which has to be the one that the referee compared. */
async function readChild({ name, version, sha256 }: Child, { places, env }: PreparedLaunch): Promise<ChildReading> {
  const local: StorePlaces = { ...places, manifestDir: places.packageRoot, sources: () => [] };
  try {
    const { root } = await locate({ name, version }, local);
    const { stored, archive } = await openStored(root, { name, version }, places.platform);
    try {
      if (stored.sha256 !== sha256) return notRead(`the artifact in ${root} is not the one that the referee approved`);
      return readingOf(await readManifestText(archive), env);
    } finally {
      await archive.file.close();
    }
  } catch (error) {
    if (error instanceof Diagnostic) return notRead(error.message);
    if (error instanceof DiagnosticList) return notRead(error.diagnostics.map(({ message }) => message).join('; '));
    throw error;
  }
}

function readingOf(text: string, env: Environment): ChildReading {
  if (archiveKind(text, manifestFile) !== 'capsule') return notRead('it is not a capsule');
  const { manifest } = loadCapsuleManifest({ file: manifestFile, text, env, purpose: 'inspect' });
  const { env: variables, spawn } = manifest.capabilities;
  const mayAsk = manifest.approvals !== undefined || (spawn?.allow ?? []).length > 0;
  return { kind: 'read', envAllow: variables?.allow ?? [], mayAsk };
}

function notRead(reason: string): ChildReading {
  return { kind: 'not-read', reason };
}
