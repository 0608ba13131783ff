/** Says what a command will see, write and reach, from the very plan by which it would be launched. */

import { delimiter, isAbsolute, join } from 'node:path';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { systemFiles } from '../closure/file-collection.ts';
import { neededFiles } from '../closure/needed-files.ts';
import { findProgram } from '../find-program.ts';
import { type Enforcement, composePlan, fileRights, sharedMemory, temporary } from '../launch/compose-plan.ts';
import { type LaunchPlan, mountAttribute } from '../launch/launch-plan.ts';
import { grantedFiles } from '../launch/launch-sheets.ts';
import type { LimitHold } from '../limits/held-limits.ts';
import { environmentIn, grantsIn, type LoweredRequest, lowerRequest } from './lower-request.ts';
import { containmentOf, ownSurroundings } from './own-host.ts';
import type { ExplainedFile, ExplainedLimit, Explanation, SandboxRequest } from './requests.ts';
import { notStopped } from './unstopped.ts';

/**
 * Says what a command will be able to see, write and reach, and by which means of the kernel. It is not run, and nothing is made. Throws what
 * `launch` would throw before it starts anything.
 */
export async function explain(request: SandboxRequest): Promise<Explanation> {
  const surroundings = ownSurroundings();
  const lowered = lowerRequest(request, surroundings);
  const { containment, enforcement } = await containmentOf(lowered.class);
  // Where the launch would make its folder, by a name that it would not have.
  const place = { workdir: join(surroundings.temporaryDirectory, 'svc-sandbox-XXXXXX', 'work') };
  const grants = grantsIn(lowered, place);
  const { workdir } = place;
  const env = environmentIn(lowered, place);
  const searchPath = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const programs = [lowered.program, ...grants.commands.flatMap((name) => pathOf(name, env['PATH'] ?? ''))];
  const files = grantedFiles({ filesOf, grants, workdir }, programs, searchPath);
  const plan = composePlan({
    enforcement,
    files,
    grants,
    workdir,
    cgroups: { joins: [], room: null },
    users: null,
    processesRunning: 0,
  });
  const directories = [surroundings.temporaryDirectory, ...(grants.writes ?? [])];
  const hold = await containment.hold({ resources: grants.limits, directories });
  return {
    class: lowered.class,
    mechanism: containment.mechanism,
    program: lowered.program,
    args: lowered.args,
    cwd: plan.cwd,
    files: explainedFiles({ plan, lowered, enforcement, workdir }),
    filesHeldBy: filesHeldBy[enforcement.class],
    network: lowered.network,
    networkHeldBy: lowered.network.length > 0 ? byProxy : networkHeldBy[enforcement.class],
    env: Object.keys(env).sort(),
    limits: explainedLimits(lowered, hold),
    notStopped: notStopped(lowered.class, request.grants ?? {}),
    warnings: files.problems,
  };
}

const filesOf: Parameters<typeof grantedFiles>[0]['filesOf'] = (programs, searchPath, granted) =>
  neededFiles(programs, systemFiles, searchPath, granted);

function pathOf(name: string, searchPath: string): readonly string[] {
  const found = findProgram(name, searchPath);
  return found.kind === 'found' ? [found.path] : [];
}

const filesHeldBy: Readonly<Record<Enforcement['class'], string>> = {
  sealed: 'a mount namespace whose root holds nothing else, and Landlock',
  scoped: 'Landlock; what is not listed is there, but cannot be opened',
  advisory: 'nothing: the command has every file of its user',
};

const networkHeldBy: Readonly<Record<Enforcement['class'], string>> = {
  sealed: 'a network namespace with nothing but a loopback of its own, and the system call filter',
  scoped: 'the system call filter, and Landlock for TCP',
  advisory: 'the system call filter',
};
const byProxy = 'a network namespace whose only way out is a proxy in this process, which looks names up and connects';

interface FilesQuestion {
  readonly plan: LaunchPlan;
  readonly lowered: LoweredRequest;
  readonly enforcement: Enforcement;
  readonly workdir: string;
}

/** Read off the plan: its mounts where it has a root of its own, else its rules. */
function explainedFiles({ plan, lowered, enforcement, workdir }: FilesQuestion): readonly ExplainedFile[] {
  const own = new Set([workdir, temporary, sharedMemory]);
  const seen = enforcement.class === 'sealed' ? mountedFiles(plan) : allowedFiles(plan);
  return [...seen]
    .filter(([path]) => !isBeneath('/dev', path) || path === sharedMemory)
    .map(([path, access]): ExplainedFile => {
      if (own.has(path)) return { path, access: 'own', why: 'own' };
      if (path === '/proc') return { path, access, why: 'own' };
      return { path, access, why: lowered.granted.includes(path) ? 'granted' : 'needed' };
    })
    .filter(({ path }) => path !== join(workdir, '.svc', 'home'))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

type Access = ExplainedFile['access'];

function mountedFiles({ root, landlock }: LaunchPlan): ReadonlyMap<string, Access> {
  const runnable = (landlock?.paths ?? []).flatMap(({ path, rights }) => (isRun(rights) ? [path] : []));
  const found = new Map<string, Access>();
  for (const step of root) {
    if (step.kind === 'tmp' || step.kind === 'proc') found.set(step.target, step.kind === 'proc' ? 'read' : 'own');
    if (step.kind !== 'bind') continue;
    const canRun = runnable.some((place) => isBeneath(place, step.target));
    const canWrite = (step.attributes & mountAttribute.readOnly) === 0;
    found.set(step.target, accessOf(canRun, canWrite));
  }
  return found;
}

function allowedFiles({ landlock }: LaunchPlan): ReadonlyMap<string, Access> {
  if (landlock === null) return new Map([['/', 'write and run']]);
  return new Map(landlock.paths.map(({ path, rights }) => [path, accessOf(isRun(rights), isWrite(rights))]));
}

function accessOf(canRun: boolean, canWrite: boolean): Access {
  if (canWrite) return canRun ? 'write and run' : 'write';
  return canRun ? 'run' : 'read';
}

const isRun = (rights: bigint): boolean => (rights & fileRights.runHere) !== 0n;
const isWrite = (rights: bigint): boolean => (rights & fileRights.write) === fileRights.write;

const means: Readonly<Record<string, string>> = {
  'user-namespace': 'a user namespace and RLIMIT_NPROC',
  user: 'RLIMIT_NPROC',
  rlimit: 'RLIMIT_DATA',
  watched: 'this process, which adds it up four times a second and ends the command',
  none: 'nothing',
};

function explainedLimits(lowered: LoweredRequest, { limits }: LimitHold): readonly ExplainedLimit[] {
  const held = (resource: 'processes' | 'memory', of: 'program' | 'session'): string =>
    means[limits.find((each) => each.resource === resource && each.of === of)?.held_by ?? 'none'] ?? 'nothing';
  const { limits: resources } = lowered.grants;
  const each = (limit: ExplainedLimit['limit'], most: number, heldBy: string): ExplainedLimit => ({
    limit,
    most,
    of: 'each process',
    heldBy,
  });
  const whole = (limit: ExplainedLimit['limit'], most: number | null, heldBy: string): ExplainedLimit => ({
    limit,
    most,
    of: 'command',
    heldBy: most === null ? 'nothing' : heldBy,
  });
  const processes = [held('processes', 'session'), held('processes', 'program')].find((by) => by !== 'nothing');
  return [
    each('memoryBytes', resources.memory, held('memory', 'program')),
    whole('memoryBytes', resources.memory, held('memory', 'session')),
    whole('processes', resources.processes, processes ?? 'nothing'),
    each('cpuSeconds', resources.cpu, 'RLIMIT_CPU'),
    each('openFiles', resources.open_files, 'RLIMIT_NOFILE'),
    each('fileBytes', resources.file_size, 'RLIMIT_FSIZE'),
    whole('timeMs', lowered.timeMs, 'this process'),
    whole('outputBytes', lowered.outputBytes, 'this process, where outputs are not inherited'),
  ];
}
