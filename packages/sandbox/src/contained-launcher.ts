/** Starts processes through the helper, which has the kernel take away whatever they are not granted. */

import type { Server } from 'node:net';
import { delimiter, isAbsolute } from 'node:path';
import { Duplex, Readable } from 'node:stream';
import { getSystemErrorName } from 'node:util';

import type { EgressDoor } from './egress/egress-door.ts';
import { RefusedHosts } from './egress/refused-hosts.ts';
import { findProgram, malformedRequest, type ProgramLookup, refusalOfError } from './find-program.ts';
import { execsAt, UnfitPlan } from './launch/launch-plan.ts';
import type { ProgramGate } from './launch/process-grants.ts';
import {
  type LaunchTemplate,
  type LaunchTemplates,
  type Startable,
  UnwrittenTemplate,
} from './launch/launch-templates.ts';
import type { LaunchedProcess, Launcher, LaunchOutcome, LaunchRequest } from './launcher.ts';
import type { LimitWatch } from './limits/session-limits.ts';
import type { LaunchServer } from './launch-server.ts';
import type { PipePool } from './pipe-pool.ts';
import { startProcess, startServed } from './start-process.ts';

interface ContainedLauncherOptions {
  /** `svc-launch`. */
  readonly helper: string;
  readonly templates: LaunchTemplates;
  /** For the standard streams; not closed here. */
  readonly pipes: PipePool;
  /** Starts what gets streams of its own; not closed here. Absent where this process starts everything itself. */
  readonly server?: LaunchServer;
  /** Bare names of what a process may run beside its own program. */
  readonly commands: readonly string[];
  /** Added to the environment of every process, over what it was given. */
  readonly variables: Readonly<Record<string, string>>;
  /** Opens what serves the connections of a process and reports each decision; null where it has none of its own. */
  readonly egress: (() => Promise<ServesEgress>) | null;
  /** Has the programs judged that a process starts. Absent where none is. */
  readonly gate?: ProgramGate | undefined;
  /** Looks at what runs. */
  readonly watch?: Pick<LimitWatch, 'watch'>;
  /** A clause for a person: why nothing may be started; null, or absent, when nothing stands in the way. */
  readonly obstacle?: string | null;
  /** How long what a process leaves running may go on writing after its exit; `defaultDrainMs` when absent. */
  readonly drainMs?: number;
  /** How long the helper may take until its program runs; `defaultStartMs` when absent. */
  readonly startMs?: number;
}

type ServesEgress = Pick<EgressDoor, 'serve'>;

interface StartOptions extends ContainedLauncherOptions {
  readonly wayOut: WayOut | null;
}

/** The socket listens in the process's own network; its connections are ours to serve until the process ends. */
interface WayOut extends Required<Pick<LaunchedProcess, 'takeRefusedHosts'>> {
  readonly takeListener: (listening: Server) => void;
}

const defaultDrainMs = 1000;

/** The longest step of the helper waits 10 seconds. */
const defaultStartMs = 15_000;

/** Descriptors in the helper. */
const [planAt, statusAt, filterAt, egressAt] = [3, 4, 5, 6];

/** A launcher whose plans can be made ahead of the launches. */
export interface ContainedLauncher extends Launcher {
  prepare(request: Pick<LaunchRequest, 'command' | 'env'>): void;
}

/** Starts processes behind what the plan of their grants takes away; a step of it that fails is a refusal, and nothing ran. */
export function createContainedLauncher(options: ContainedLauncherOptions): ContainedLauncher {
  const { templates } = options;
  return {
    async launch(request) {
      const problem = malformedRequest(request) ?? options.obstacle ?? null;
      if (problem !== null) return { kind: 'refused', reason: problem };
      // Ahead of the template, which may be another one after a wait.
      const door = options.egress === null ? null : await options.egress();
      const found = findStartable(request, options);
      if (found.kind === 'refused') return found;
      const template = fittingTemplate(templates, found.startable);
      return template instanceof Error
        ? { kind: 'refused', reason: template.message }
        : await start(template, request, { ...options, wayOut: door && wayOutBy(door, request) });
    },
    prepare(request) {
      const found = findStartable(request, options);
      if (found.kind === 'found') templates.templateFor(found.startable);
      void options.pipes.fill();
    },
  };
}

function fittingTemplate(
  templates: LaunchTemplates,
  startable: Startable,
): LaunchTemplate | UnfitPlan | UnwrittenTemplate {
  try {
    return templates.templateFor(startable);
  } catch (error) {
    if (error instanceof UnfitPlan || error instanceof UnwrittenTemplate) return error;
    throw error;
  }
}

type StartableLookup =
  | { readonly kind: 'found'; readonly startable: Startable }
  | Extract<ProgramLookup, { readonly kind: 'refused' }>;

function findStartable(
  { command, env, narrowed }: Pick<LaunchRequest, 'command' | 'env' | 'narrowed'>,
  { commands }: ContainedLauncherOptions,
): StartableLookup {
  const path = env.PATH ?? '';
  const program = findProgram(command, path);
  if (program.kind === 'refused') return program;
  const without = new Set(narrowed?.without);
  const others = commands.filter((name) => !without.has(name)).map((name) => findProgram(name, path));
  const startable = {
    program: program.path,
    commands: others.flatMap((other) => (other.kind === 'found' ? [other.path] : [])),
    searchPath: path.split(delimiter).filter(isAbsolute),
  };
  return { kind: 'found', startable };
}

async function start(template: LaunchTemplate, request: LaunchRequest, options: StartOptions): Promise<LaunchOutcome> {
  const { variables, server, gate } = options;
  const whole = { ...request, env: { ...request.env, ...searchVariable(template, request), ...variables } };
  // Who is asked about programs has a socket to the launch, which the helper that stays has not.
  const served =
    server === undefined || gate !== undefined ? null : await startServedBy(server, template, whole, options);
  return served ?? (await startAsChild(template, whole, options));
}

/** Returns null where it has to be started as a child of this process. */
async function startServedBy(
  server: LaunchServer,
  template: LaunchTemplate,
  request: LaunchRequest,
  { pipes, watch, wayOut, drainMs = defaultDrainMs, startMs = defaultStartMs }: StartOptions,
): Promise<LaunchOutcome | null> {
  const { plan, filter, program } = template;
  const argv = [request.command, ...request.args];
  const { env } = request;
  const takeListener = wayOut?.takeListener;
  const launch = { plan, filter, program, argv, env, takeListener };
  const starting = startServed(request, { server, pipes, drainMs, ...launch });
  const started = await unlessLate(starting, startMs);
  if (started === 'late') {
    void starting.then((late) => late.kind === 'started' && late.process.kill('SIGKILL'));
    return lateRefusal(startMs);
  }
  if (started.kind === 'unserved') return null;
  if (started.kind === 'lost') return { kind: 'refused', reason: 'it could not be contained: svc-launch has ended' };
  const failure = started.settled.then((line) => (line === '' ? null : parseLaunchFailure(line)));
  const launched = watch?.watch(started.process) ?? started.process;
  return await settle(failure, withWayOut(launched, wayOut), template, startMs);
}

async function startAsChild(
  template: LaunchTemplate,
  request: LaunchRequest,
  { helper, wayOut, gate, pipes, watch, drainMs = defaultDrainMs, startMs = defaultStartMs }: StartOptions,
): Promise<LaunchOutcome> {
  const answer = gate === undefined ? null : (await import('./answered-execs.ts')).answerExecs;
  const words = [planAt, statusAt, filterAt, wayOut === null ? '-' : egressAt].map(String);
  const started = await startProcess(request, {
    program: helper,
    args: [...words, template.program, request.command, ...request.args],
    cwd: '/',
    env: request.env,
    others: [
      template.plan,
      'pipe',
      template.filter,
      ...(wayOut === null ? [] : (['ipc'] as const)),
      ...(gate === undefined ? [] : wayOut === null ? (['ignore', 'pipe'] as const) : (['pipe'] as const)),
    ],
    pipes,
    drainMs,
  });
  if (started.kind === 'refused') return started;
  const { child } = started;
  child.once('message', (_message, listening) => {
    child.once('close', () => (listening as Server).close());
    wayOut?.takeListener(listening as Server);
  });
  const execs: unknown = child.stdio.at(execsAt);
  if (gate !== undefined) {
    if (!(execs instanceof Duplex)) throw new Error('a started helper lacks its socket');
    answer?.(execs, request.programs ?? gate.otherwise);
  }
  const status = child.stdio[statusAt];
  if (!(status instanceof Readable)) throw new Error('a started helper lacks its status');
  const launched = watch?.watch(started.process) ?? started.process;
  return await settle(readLaunchStatus(status), withWayOut(launched, wayOut), template, startMs);
}

function searchVariable({ searchFirst }: LaunchTemplate, { env }: LaunchRequest): Readonly<Record<string, string>> {
  if (searchFirst === null) return {};
  return { PATH: [searchFirst, ...(env.PATH === undefined ? [] : [env.PATH])].join(delimiter) };
}

function wayOutBy(door: ServesEgress, asked: Pick<LaunchRequest, 'mayReach' | 'requests'>): WayOut {
  const refused = new RefusedHosts();
  return {
    takeListener: (listening) => door.serve(listening, (decision) => refused.add(decision), asked),
    takeRefusedHosts: () => refused.take(),
  };
}

function withWayOut(launched: LaunchedProcess, wayOut: WayOut | null): LaunchedProcess {
  return wayOut === null ? launched : { ...launched, takeRefusedHosts: wayOut.takeRefusedHosts };
}

async function settle(
  failing: Promise<LaunchFailure | null>,
  launched: LaunchedProcess,
  { problems, hides }: LaunchTemplate,
  startMs: number,
): Promise<LaunchOutcome> {
  const failure = await unlessLate(failing, startMs);
  if (failure === null) {
    return { kind: 'started', process: { ...launched, hides }, ...(problems.length > 0 ? { problems } : {}) };
  }
  launched.stdout.resume();
  launched.stderr.resume();
  if (failure === 'late') {
    launched.kill('SIGKILL');
    return lateRefusal(startMs);
  }
  await launched.ended;
  return { kind: 'refused', reason: [refusalOfFailure(failure), ...problems].join('; ') };
}

function lateRefusal(startMs: number): LaunchOutcome {
  const reason = `it could not be contained: svc-launch did not come to it in ${startMs / 1000} s`;
  return { kind: 'refused', reason };
}

async function unlessLate<T>(answer: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late');
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The last words of a helper that did not start its program. */
export interface LaunchFailure {
  /** The step that failed (`native/svc-launch/PLAN.md`). */
  readonly stage: string;
  /** The name of the system's error: `ENOENT`. */
  readonly error: string;
  readonly detail: string;
}

const maxLine = 4096;

/** Returns null once the program runs: the helper closes its status without a word then. */
export function readLaunchStatus(status: Readable): Promise<LaunchFailure | null> {
  let line = '';
  return new Promise((resolve, reject) => {
    status.on('data', (chunk: Buffer) => {
      line = (line + chunk.toString()).slice(0, maxLine);
    });
    status.once('end', () => resolve(line === '' ? null : parseLaunchFailure(line)));
    status.once('close', () => reject(new Error('the status of a launch was closed before its end')));
    status.once('error', reject);
  });
}

function parseLaunchFailure(line: string): LaunchFailure {
  const [, stage = 'unknown', number = '', detail = ''] = /^(\S+) (\d+) ?(.*?)\n?$/s.exec(line) ?? [];
  return { stage, error: errorName(Number(number)), detail };
}

/** As a clause for a person: `unshare user answered EPERM`. */
export function describeFailure({ stage, error, detail }: LaunchFailure): string {
  return `${[stage, detail].filter((part) => part !== '').join(' ')} answered ${error}`;
}

function errorName(number: number): string {
  if (number === 0) return 'no error number';
  return getSystemErrorName(-number);
}

/** Steps that are reported as the path at which they failed. */
const pathStages: ReadonlySet<string> = new Set(['root', 'landlock', 'cwd']);

const pathReasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there any more',
  ENOTDIR: 'is not there any more',
  EACCES: 'cannot be reached without the privileges that are given up first',
  ELOOP: 'has become a link',
};

/** Why the helper did not start a program, as a clause for a person. */
function refusalOfFailure(failure: LaunchFailure): string {
  const { stage, error, detail } = failure;
  // A session that has as many processes as it may has no room for one more, whichever step finds out.
  if (stage === 'exec' || stage === 'room' || (stage === 'fork' && error === 'EAGAIN')) return refusalOfError(error);
  if (stage === 'descriptors' && error === 'EISDIR') return 'its input or an output is a directory';
  const said = pathStages.has(stage) && detail.startsWith('/') ? pathReasons[error] : undefined;
  if (said !== undefined) return `it could not be contained: ${detail} ${said}`;
  return `it could not be contained: ${describeFailure(failure)}`;
}
