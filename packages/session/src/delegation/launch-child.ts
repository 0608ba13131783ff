/** Starts a child in a directory of its own and waits until it listens. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { mintSessionId, type SessionId } from '@svc/protocol/ids.ts';
import { type SpawnerHandle, encodeSpawnerHandle } from '@svc/protocol/spawner-handle.ts';
import { decodeRunLine } from '@svc/protocol/run-line.ts';
import { createDirectLauncher } from '@svc/sandbox/direct-launcher.ts';
import { type ChildArtifact, releaseSlot } from './approve-child.ts';
import type { CapsuleEndpoint } from './capsule-call.ts';
import type { ChildKey } from './child-key.ts';
import { ChildProcess, describeEnd, type FirstLine } from './child-process.ts';
import type { DelegationsDeps } from './delegations-deps.ts';

/** The time from the start of the process to its first line (D2 "Limits"). */
const launchBoundMs = 180_000;

/** The time to end for a child that has no task yet, or whose call was canceled. */
export const shortGraceMs = 2000;

interface ChildLaunch extends ChildArtifact {
  readonly approval: Secret;
  readonly envAllow: readonly string[];
  /** A child that reports to nobody has null here. */
  readonly handle: SpawnerHandle | null;
  /** A child that asks nobody has null here. */
  readonly key: ChildKey | null;
  readonly signal: AbortSignal;
}

/** A child whose listener is up. */
export interface ReadyChild {
  readonly program: ChildProcess;
  readonly sessionId: SessionId;
  readonly door: CapsuleEndpoint;
  /** Its workdir, absolute. */
  readonly directory: string;
  /** The same below the parent's workdir. */
  readonly childWorkdir: string;
  /** Where its trace is, below the session directory of the parent. */
  readonly sessionDirectory: string;
  /** When it said that it was up, on the clock that only rises. */
  readonly readyMs: number;
}

type Launched =
  | { readonly kind: 'ready'; readonly child: ReadyChild }
  /** Nothing of it runs any more. `reason` is a clause for a person. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The signal was aborted and nothing of it runs any more. `detail` says how it ended. */
  | { readonly kind: 'canceled'; readonly directory: string; readonly detail: string };

/** Starts a child in a directory of its own (D2 "Child directory") and waits until its listener is up. */
export async function launchChild(launch: ChildLaunch, deps: DelegationsDeps): Promise<Launched> {
  const places = makePlaces(launch.capsule, deps);
  if (places.kind === 'failed') return places;
  const sessionId = mintSessionId(deps.clock);
  const env = childEnvironment({
    env: deps.env,
    parentAllow: deps.envAllow,
    childAllow: launch.envAllow,
    refereeUrl: deps.referee.url,
    handle: launch.handle,
  });
  const started = await createDirectLauncher({ cwd: places.root }).launch({
    command: deps.program.command,
    args: [...deps.program.args, ...childArguments(launch, { ...places, sessionId }, deps)],
    env,
    stdin: 'pipe',
  });
  if (started.kind === 'refused') return failed(`it could not be started: ${started.reason}`);
  const program = new ChildProcess(started.process, deps.clock);
  // Its standard input is the one way that the approval takes, and the end of that is the end of the approval (D2 "Authentication" 2).
  const told = [launch.approval.reveal(), deps.telemetry?.variables ?? '', launch.key?.reveal() ?? ''];
  program.tell(told.join('\n').trimEnd());
  const reading = await whenUp(program, { ...launch, sessionId }, deps);
  if (reading.kind === 'ready') {
    const { endpoint } = reading;
    const token = env['SVC_LISTENER_TOKEN'];
    const door = { endpoint, token: token === undefined || token === '' ? null : new Secret(token) };
    const { directory, childWorkdir, name } = places;
    const sessionDirectory = `children/${name}/.svc/sessions/${sessionId}`;
    return {
      kind: 'ready',
      child: { program, sessionId, door, directory, childWorkdir, sessionDirectory, readyMs: deps.clock.monotonicMs() },
    };
  }
  const end = await program.end(shortGraceMs);
  // It may have registered, and cannot deregister itself any more.
  await releaseSlot(sessionId, deps);
  const words = withoutApproval(launch.approval, deps);
  const how = describeEnd(end, program.lastWords(words));
  if (reading.kind === 'canceled') return { kind: 'canceled', directory: places.directory, detail: how };
  return failed(`${words(reading.reason)} (${how})`);
}

function childArguments(
  { capsule, version }: ChildArtifact,
  { directory, sessionId }: { readonly directory: string; readonly sessionId: SessionId },
  { pid, childGraceMs, capture, project }: DelegationsDeps,
): readonly string[] {
  const given = project === null ? [] : ['--project-of-parent', project];
  const what = ['--capsule', capsule, '--capsule-version', version, '--workdir', directory];
  // It is to have ended by itself before it is ended.
  const stopWithinMs = Math.floor(childGraceMs * 0.9);
  const whose = ['--spawned-by', String(pid), '--session-id', sessionId, '--stop-within', String(stopWithinMs)];
  const kept = ['--capture-ceiling', capture];
  return ['run', '--json', ...what, ...given, ...kept, '--no-env-file', '--spawn-approval-stdin', ...whose];
}

type Up = RunLineReading | { readonly kind: 'canceled' };

/** The first of: its line, its end, the launch bound, a cancel. */
async function whenUp(
  program: ChildProcess,
  launch: ChildLaunch & { readonly sessionId: SessionId },
  { clock }: DelegationsDeps,
): Promise<Up> {
  const { capsule: name, version, sessionId, signal } = launch;
  let settle: (up: Up) => void = () => {};
  const up = new Promise<Up>((resolve) => {
    settle = resolve;
  });
  const onAbort = (): void => settle({ kind: 'canceled' });
  const cancelTimer = clock.after(launchBoundMs, () => {
    settle({ kind: 'unusable', reason: `it was not up within ${launchBoundMs / 1000} s` });
  });
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  void program.firstLine.then((line) => settle(readFirst(line, { name, version, sessionId })));
  try {
    return await up;
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

function readFirst(line: FirstLine, expected: ExpectedLine): RunLineReading {
  switch (line.kind) {
    case 'line':
      return parseRunLine(line.text, expected);
    case 'too-long':
      return { kind: 'unusable', reason: 'the first line it printed has no end' };
    case 'none':
      return { kind: 'unusable', reason: 'it ended before it was up' };
  }
}

type Places =
  | {
      readonly kind: 'made';
      readonly name: string;
      readonly directory: string;
      readonly root: string;
      readonly childWorkdir: string;
    }
  | { readonly kind: 'failed'; readonly reason: string };

function makePlaces(capsule: string, deps: DelegationsDeps): Places {
  const name = `${capsule}-${Buffer.from(deps.clock.randomBytes(8)).toString('hex')}`;
  try {
    const directory = deps.makeChildDirectory(name);
    return { kind: 'made', name, directory, root: deps.makeChildRoot(name), childWorkdir: `.svc/children/${name}` };
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { kind: 'failed', reason: error.message };
  }
}

function withoutApproval(approval: Secret, { redact }: DelegationsDeps): (text: string) => string {
  return (text) => redact(text).replaceAll(approval.reveal(), '[secret]');
}

function failed(reason: string): Launched {
  return { kind: 'failed', reason };
}

/** What the referee's client and nobody's manifest decides about. */
const ownNames: ReadonlySet<string> = new Set(['PATH', 'HOME', 'SVC_REFEREE_URL', 'SVC_SPAWNER']);

interface ChildEnvironmentRequest {
  /** The parent's process environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `capabilities.env.allow` of the parent and of the child. */
  readonly parentAllow: readonly string[];
  readonly childAllow: readonly string[];
  readonly refereeUrl: string;
  /** A child that reports to nobody has null here. */
  readonly handle: SpawnerHandle | null;
}

/**
 * The whole environment of a child (D2 "Child environment"): cleared except for what the runtime sets and what both manifests name and the
 * parent holds.
 */
export function childEnvironment(request: ChildEnvironmentRequest): Readonly<Record<string, string>> {
  const { env, parentAllow, childAllow, refereeUrl, handle } = request;
  const inBoth = childAllow.filter((name) => parentAllow.includes(name) && !ownNames.has(name));
  const held = ['PATH', 'HOME', ...inBoth].flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries([
    ...held,
    ['SVC_REFEREE_URL', refereeUrl],
    ...(handle === null ? [] : [['SVC_SPAWNER', encodeSpawnerHandle(handle)] as const]),
  ]);
}

/** What its parent expects it to be. */
interface ExpectedLine {
  readonly name: string;
  readonly version: string;
  readonly sessionId: SessionId;
}

type RunLineReading =
  /** `endpoint` is the address of the child's `POST /` on this machine. */
  | { readonly kind: 'ready'; readonly endpoint: URL }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Reads the first line of a child, once its listener is up (D1 "Run result line"). It has to be that of the capsule that was approved. */
export function parseRunLine(text: string, expected: ExpectedLine): RunLineReading {
  const line = decodeRunLine(text);
  if (line === null) return unusable(`the first line it printed is not a JSON object: ${quoted(text)}`);
  const { url, pid, sessionId, name, version, workdir } = line;
  const port = localAddress.exec(url ?? '')?.[1] ?? null;
  if (port === null || Number(port) > 65_535)
    return unusable('the url of its first line is not a port of this machine');
  if (sessionId !== expected.sessionId) return unusable('the session_id of its first line is not the one it was given');
  if (pid === null) return unusable('the pid of its first line is not a number');
  if (workdir === null) return unusable('the workdir of its first line is missing');
  if (name !== expected.name || version !== expected.version) {
    return unusable(`its first line is not that of ${expected.name} ${expected.version}`);
  }
  // A name may stand for two addresses, and another program may listen at the other one.
  return { kind: 'ready', endpoint: new URL(`http://127.0.0.1:${port}/`) };
}

const localAddress = /^(?:localhost|127\.0\.0\.1):([1-9]\d{0,4})$/;

function unusable(reason: string): RunLineReading {
  return { kind: 'unusable', reason };
}
