import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import { HttpServer } from '../http/server.ts';
import { capsuleRoutes, type CapsuleDoor } from '../listener/capsule-listener.ts';
import type { SessionOutcome } from '../session/session.ts';
import { mintSessionId } from '../wire/ids.ts';
import { bindListener, type BoundListener } from './bind-listener.ts';
import { openSession, type OpenSession } from './open-session.ts';
import { prepareLaunch, type PreparedLaunch } from './prepare.ts';
import { processStart, writeRunningRecord } from './running-record.ts';
import type { RunningCapsule, RunObserver, RunOutcome, RunRequest } from './running-capsule.ts';
import { systemClock } from './system-clock.ts';

/** How long answers and streams that are open at the end may take to go out. */
const closeGraceMs = 1000;

/**
 * `svc run`: prepares, binds the port, opens the session, runs it to its end and closes everything
 * (D1 "What the service does"). A launch that fails rejects with its Diagnostics and has told the observer no more than warnings.
 */
export async function runCapsule(request: RunRequest, observer: RunObserver): Promise<RunOutcome> {
  const launch = await prepareLaunch(request, (warning) => observer.onWarning(warning));
  let openDoor: (door: CapsuleDoor) => void = () => {};
  const door = new Promise<CapsuleDoor>((resolve) => {
    openDoor = resolve;
  });
  const token = launch.listenerToken;
  const server = new HttpServer({ routes: capsuleRoutes(door), token, onBug: raise });
  try {
    const listener = await bindListener(server, {
      bind: request.bind,
      internalPort: launch.loaded.manifest.network.internal_port,
      hasToken: token !== null,
    });
    for (const warning of listener.warnings) observer.onWarning(warning);
    return await runBound({ request, observer, launch, listener, openDoor });
  } finally {
    await server.close(closeGraceMs);
  }
}

interface BoundLaunch {
  readonly request: RunRequest;
  readonly observer: RunObserver;
  readonly launch: PreparedLaunch;
  readonly listener: BoundListener;
  readonly openDoor: (door: CapsuleDoor) => void;
}

async function runBound({ request, observer, launch, listener, openDoor }: BoundLaunch): Promise<RunOutcome> {
  const sessionId = mintSessionId(systemClock);
  const url = listener.advertised;
  const onFrame = observer.onFrame.bind(observer);
  const open = await openSession({ request, launch, sessionId, url, onFrame });
  const forget = writeRunningRecord(request.home, {
    session_id: sessionId,
    url,
    pid: process.pid,
    process_start: processStart(process.pid),
    name: launch.loaded.manifest.name,
    version: launch.loaded.manifest.version,
    workdir: open.directories.workdir,
    started_at_ms: systemClock.now(),
  });
  try {
    openDoor(open.door);
    observer.onListening(runningCapsule(launch, open, listener));
    return await runSession(open, request.stop);
  } finally {
    forget();
    await open.close();
  }
}

/** Runs to the end, records it and closes the event streams: `capsule-closed` is the last frame (contracts §1). */
async function runSession(open: OpenSession, stop: AbortSignal): Promise<SessionOutcome> {
  const { session, trace, sessionStart } = open;
  const startedMs = systemClock.monotonicMs();
  const onStop = (): void => void session.shutDown().catch(raise);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  try {
    const outcome = await session.run();
    const end = {
      event_type: 'session_end',
      status: outcome.status,
      ...(outcome.trap === null ? {} : { reason: outcome.trap.message }),
      tasks: session.board.accepted,
      duration_ms: Math.round(systemClock.monotonicMs() - startedMs),
    } as const;
    const lost = diagnosticOf(() => trace.write(end, sessionStart));
    return lost === null || outcome.trap !== null ? outcome : { status: 'trapped', trap: lost, stoppedIdle: false };
  } finally {
    stop.removeEventListener('abort', onStop);
    session.events.end();
  }
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
    driver: open.driver,
    model: inference.model,
    skills: artifacts.filter(({ runtime }) => runtime === 'skill').length,
  };
}

/** A bug that no caller waits for: it ends the process as an uncaught exception. */
function raise(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
