/** Runs one session from its manifest to its end. */

import { existsSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';

import { processStart } from '@svc/kit/process-stat.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic, diagnosticOf, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CapsuleHooks } from '@svc/session/hooks/session-hooks.ts';
import { answerBudget } from '@svc/kit/http/byte-budget.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import type { TokenCallers } from '@svc/doors/callers/callers.ts';
import type { DoorFacts } from '@svc/doors/core/door-core.ts';
import { shareOf } from '@svc/doors/callers/principal.ts';
import { capsuleRoutes, type CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import type { SessionOutcome } from '@svc/session/session.ts';
import type { Sender } from '@svc/session/task/task.ts';
import { mintSessionId, type SessionId } from '@svc/protocol/ids.ts';
import { servedDoors } from '@svc/artifacts/manifest/door-names.ts';
import { bindListener, type BoundListener } from '../launch/bind-listener.ts';
import { callersOf, isPrivate } from './listener-callers.ts';
import type { PersonKey } from './person-key.ts';
import { openSession, type OpenSession } from './open-session.ts';
import { prepareLaunch, scopeLaunch, type PreparedLaunch, type ScopedLaunch } from '../launch/prepare.ts';
import type { RefereeMembership } from '../launch/referee-membership.ts';
import type { EndedSession } from './report-to-spawner.ts';
import { listRunning } from '@svc/record/sessions/running-record.ts';
import { trappedBy } from './session-record.ts';
import { placedRequest } from '../launch/launch-host.ts';
import type { RunningCapsule, RunObserver, RunOutcome, RunRequest, Steering } from '../launch/running-capsule.ts';

/** Answers and streams that are open at the end have a quarter of the time that a stop may take to go out (docs/cli.md "svc run"). */
const partOfStop = 1 / 4;

/**
 * `svc run`: prepares, binds the port, opens the session, runs it to its end and closes everything
 * (D1 "What the service does"). A launch that fails rejects with its Diagnostics; the observer has heard no more than warnings.
 */
export async function runCapsule(asked: RunRequest, observer: RunObserver): Promise<RunOutcome> {
  const onWarning = observer.onWarning.bind(observer);
  const sessionId = asked.sessionId ?? mintSessionId(systemClock);
  const scoped = await scopeLaunch(asked, onWarning);
  const request = placedRequest(asked, scoped.grants);
  const membership = await membershipOf(request, scoped, sessionId);
  let ended: EndedSession | null = null;
  try {
    const launch = await prepareLaunch(scoped, request, onWarning);
    ended = await serveSession({ request, observer, launch, sessionId, membership });
  } finally {
    // A slot is free before a parent hears of the end.
    await membership?.leave(ended?.outcome.status === 'ok' ? 'complete' : 'failed');
  }
  const { spawner } = scoped.delegation;
  if (spawner !== null) {
    const { reportToSpawner } = await import('./report-to-spawner.ts');
    await reportToSpawner({ ...ended, spawner, request, sessionId, scoped, onWarning });
  }
  return ended.outcome;
}

/** Returns null for a session that may not delegate and was not delegated to: it never asks the referee (docs/protocol.md "The referee"). */
async function membershipOf(
  { approval }: RunRequest,
  { grants, loaded, delegation, redactor }: ScopedLaunch,
  sessionId: SessionId,
): Promise<RefereeMembership | null> {
  if (grants.spawnAllow.length === 0 && approval === null) return null;
  const { joinReferee } = await import('../launch/referee-membership.ts');
  const { name, version } = loaded.manifest;
  return await joinReferee({ sessionId, name, version, approval, refereeUrl: delegation.refereeUrl, redactor });
}

interface SessionLaunch {
  readonly request: RunRequest;
  readonly observer: RunObserver;
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  readonly membership: RefereeMembership | null;
}

/** Serves the session from the bound port to its end. */
async function serveSession(session: SessionLaunch): Promise<EndedSession> {
  const { request, observer, launch } = session;
  const closeGraceMs = request.stopWithinMs * partOfStop;
  let openDoor: (door: CapsuleDoor) => void = () => {};
  const door = new Promise<CapsuleDoor>((resolve) => {
    openDoor = resolve;
  });
  const { manifest } = launch.loaded;
  const serve = servedDoors(manifest);
  // A capsule that another one has started asks through that one.
  const asksForChildren = launch.grants.spawnAllow.length > 0 && launch.holdsPrograms;
  const mayAsk = request.approval === null && (manifest.approvals !== undefined || asksForChildren);
  const hasPerson = mayAsk || request.changes?.hasPerson === true;
  const personKey = hasPerson ? (await import('./person-key.ts')).makePersonKey(launch) : null;
  const callers = await callersOf(request, { ...launch, personKey }, observer);
  const admits = (headers: IncomingHttpHeaders): boolean | Promise<boolean> => callers.admits(headers);
  const answers = answerBudget();
  const routes = capsuleRoutes(door, { serve, answers });
  const holderOf = (headers: IncomingHttpHeaders): string | null => shareOf(callers.principalOf({ headers }));
  const isOpen = !callers.asksForToken && !isPrivate(request.bind);
  const pages = isOpen ? { admit: (await import('./pages-of-names.ts')).refusePagesOfNames(request.env) } : {};
  const server = new HttpServer({ routes, token: null, ...pages, admits, answers, holderOf, onBug: raise });
  try {
    const listener = await bindListener(server, {
      bind: request.bind,
      internalPort: manifest.network.internal_port,
      hasToken: callers.asksForToken,
    });
    for (const warning of listener.warnings) observer.onWarning(warning);
    if (serve.length > 0 && (listener.isPublic || (request.env['SVC_PUBLIC_URL'] ?? '') !== '')) {
      const { checkPublicUrl } = await import('./door-facts.ts');
      checkPublicUrl(request, listener, observer);
    }
    if (serve.includes('a2a') && existsSync(join(request.home, '.svc', 'keys'))) {
      (await import('./card-key.ts')).readCardKey(request.home);
    }
    const closeDoor = async (): Promise<void> => await server.close(closeGraceMs);
    return await runBound({ ...session, listener, callers, personKey, openDoor, closeDoor });
  } finally {
    await server.close(closeGraceMs);
  }
}

interface BoundLaunch extends SessionLaunch {
  readonly listener: BoundListener;
  readonly callers: TokenCallers;
  /** Is null for a session that asks for no approvals. */
  readonly personKey: PersonKey | null;
  readonly openDoor: (door: CapsuleDoor) => void;
  /** Lets running answers end, then serves nothing more. */
  readonly closeDoor: () => Promise<void>;
}

async function runBound(bound: BoundLaunch): Promise<EndedSession> {
  const { request, observer, launch, sessionId, membership, listener, callers, openDoor, closeDoor } = bound;
  const startedMs = systemClock.monotonicMs();
  const url = listener.advertised;
  const onFrame = observer.onFrame.bind(observer);
  const onTaskFailed = observer.onTaskFailed.bind(observer);
  const onWarning = observer.onWarning.bind(observer);
  const onRetained = observer.onRetained.bind(observer);
  const hears = { onFrame, onTaskFailed, onWarning, onRetained };
  const open = await openSession({
    request,
    launch,
    sessionId,
    membership,
    url,
    knowsAnswerer: () => callers.knowsAnswerer(),
    ...hears,
  });
  let forget = (): void => {};
  try {
    forget = listSession(bound, open);
    await warnOfSharing(bound, open);
    const door = doorOf(bound, open);
    openDoor(door);
    request.onDoor?.(door);
    observer.onListening(runningCapsule(launch, open, listener), steeringOf(open, launch));
    launch.loaded.keep?.();
    open.beginJournal();
    open.telemetry?.begin();
    const outcome = await runSession(open, { stop: request.stop, closeDoor });
    const durationMs = elapsedMs(systemClock, startedMs);
    return { outcome, tasks: open.session.board.accepted, workdir: open.directories.workdir, durationMs };
  } finally {
    forget();
    await open.close();
  }
}

function doorOf(bound: BoundLaunch, { door, doors }: OpenSession): CapsuleDoor {
  const { request, launch, listener, callers, observer } = bound;
  const onWarning = observer.onWarning.bind(observer);
  const described = { launch, request, url: listener.advertised, callers, around: doors, onWarning };
  const facts = async (): Promise<DoorFacts> => (await import('./door-facts.ts')).doorFacts(described);
  const { children } = door;
  if (children !== undefined) callers.knowChildren((token) => children.childOf(token));
  return { ...door, principal: callers.ownName, callers, facts };
}

/** Puts the session among the running ones. When that is refused, the trace is ended: nothing has run yet. */
function listSession({ request, launch, listener, personKey }: BoundLaunch, open: OpenSession): () => void {
  const { name, version } = launch.loaded.manifest;
  try {
    const record = {
      session_id: open.session.id,
      url: listener.advertised,
      address: listener.address,
      pid: process.pid,
      process_start: processStart(process.pid),
      name,
      version,
      workdir: open.directories.workdir,
      session_directory: open.directories.session,
      project_folder: launch.project?.scope.project_folder?.path,
      started_at_ms: systemClock.now(),
    };
    const unlist = listRunning(request.home, record, systemClock);
    const hideKey = personKey?.keep(request.home, record) ?? ((): void => {});
    return () => {
      hideKey();
      unlist();
    };
  } catch (error) {
    if (error instanceof Diagnostic) diagnosticOf(() => open.writeEnd(trappedBy(error)));
    throw error;
  }
}

/** A workdir that svc or a parent made belongs to one session. */
async function warnOfSharing({ request, observer }: BoundLaunch, { session, directories }: OpenSession): Promise<void> {
  if (request.workdir === null || request.approval !== null) return;
  const { sharedWorkdir } = await import('../launch/shared-workdir.ts');
  const { workdir } = directories;
  const warning = sharedWorkdir({ home: request.home, sessionId: session.id, workdir });
  if (warning !== null) observer.onWarning(warning);
}

/**
 * Runs to the end, notifies the hooks, closes the event streams and the door, and records the end: `capsule-closed` is the last frame, `session_end`
 * the last line (docs/protocol.md "The end of a session").
 */
async function runSession(
  open: OpenSession,
  { stop, closeDoor }: { readonly stop: AbortSignal; readonly closeDoor: () => Promise<void> },
): Promise<SessionOutcome> {
  const { session } = open;
  const onStop = (): void => void session.shutDown().catch(raise);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  let outcome: SessionOutcome | null = null;
  let lost: Diagnostic | null = null;
  try {
    await startHooks(open);
    outcome = await endHooks(open.hooks, await session.run());
  } finally {
    stop.removeEventListener('abort', onStop);
    session.events.end();
    const closingMs = systemClock.monotonicMs();
    await Promise.all([closeDoor(), ...open.doors.ends.map((end) => end())]);
    const telemetry = (await open.telemetry?.end(elapsedMs(systemClock, closingMs))) ?? null;
    await open.readyToEnd();
    // Without an outcome there was a bug: the trace says at least that the session is over.
    const reason = outcome === null ? 'internal error' : (outcome.trap?.message ?? null);
    lost = diagnosticOf(() => open.writeEnd({ status: outcome?.status ?? 'trapped', reason, telemetry }));
  }
  if (lost === null || outcome.trap !== null) return outcome;
  return { status: 'trapped', trap: lost, stoppedIdle: false };
}

/** A trace that cannot be written ends the session, wherever it is found out. */
async function startHooks({ hooks, session }: OpenSession): Promise<void> {
  try {
    await hooks.sessionStarted();
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    session.trap(error);
  }
}

/** Sends the hooks their last event; what their components came to by then is part of the outcome (docs/protocol.md "The end of a session"). */
async function endHooks(hooks: CapsuleHooks, outcome: SessionOutcome): Promise<SessionOutcome> {
  try {
    await hooks.sessionEnded(outcome.status);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return outcome.trap === null ? { status: 'trapped', trap: error, stoppedIdle: false } : outcome;
  }
  return hooks.trapped && outcome.status !== 'trapped'
    ? { status: 'trapped', trap: null, stoppedIdle: false }
    : outcome;
}

function runningCapsule(
  launch: PreparedLaunch,
  open: OpenSession,
  { port, advertised }: BoundListener,
): RunningCapsule {
  const { name, version, inference, artifacts } = launch.loaded.manifest;
  return {
    url: `localhost:${port}`,
    reachableAt: advertised,
    pid: process.pid,
    sessionId: open.session.id,
    name,
    version,
    workdir: open.directories.workdir,
    state: launch.source.state,
    project: projectOf(launch),
    driver: open.driver,
    model: inference.model,
    hasTask: launch.initialTask !== null,
    skills: artifacts.filter(({ runtime }) => runtime === 'skill').length,
    launch,
    changes: () => launch.project?.changes() ?? null,
  };
}

function projectOf({ project }: PreparedLaunch): string | null {
  const folder = project?.scope.project_folder;
  return folder === undefined || folder.is_workdir === true ? null : folder.path;
}

function steeringOf({ session: { board, activity, approvals } }: OpenSession, { redactor }: PreparedLaunch): Steering {
  return {
    hearOutput: (listener) => activity.hearOutput(listener),
    redact: recordRedaction(redactor),
    answer: (question, text) => board.answer(question, { text, sender: atTheTerminal }),
    decide: (answer) => {
      const result = approvals?.answer(answer, { principal: 'terminal', way: 'terminal' });
      if (result?.kind === 'settled') return null;
      return result?.kind === 'elsewhere' ? result.why : 'that call does not wait any more';
    },
    cancel: (taskId) => {
      const task = board.find(taskId);
      if (task !== undefined) void board.cancel(task, atTheTerminal.principal).catch(raise);
    },
  };
}

/** A person at this terminal may do all that the operator may. */
const atTheTerminal: Sender = { principal: 'operator', tags: {} };
