/** Says what a command will see, write and reach, from the very plan by which it would be launched, and what nothing stops it from. */

import { delimiter, isAbsolute, join } from 'node:path';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { systemFiles } from '../closure/file-collection.ts';
import { neededFiles } from '../closure/needed-files.ts';
import { networkVariables } from '../contained-environment.ts';
import { findProgram } from '../find-program.ts';
import { composePlan, fileRights, sharedMemory } from '../launch/compose-plan.ts';
import type { Enforcement } from '../launch/enforcement.ts';
import { type LaunchPlan, mountAttribute, planFault } from '../launch/launch-plan.ts';
import { grantedFiles } from '../launch/launch-templates.ts';
import type { LimitHold } from '../limits/held-limits.ts';
import { environmentIn, grantsIn, type LoweredRequest, lowerRequest } from './lower-request.ts';
import { containmentOf, ownSurroundings } from './own-host.ts';
import { inWordsOfLibrary } from './launch.ts';
import { StartRefusal } from './start-refusal.ts';
import type { ExplainedFile, ExplainedLimit, Explanation, SandboxRequest, Grants, SandboxClass } from './requests.ts';

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
  const fault = planFault(plan);
  if (fault !== null) throw new StartRefusal(lowered.program, fault);
  const directories = [surroundings.temporaryDirectory, ...(grants.writes ?? [])];
  const hold = await containment.hold({ resources: grants.limits, directories });
  return {
    class: lowered.class,
    mechanism: containment.mechanism,
    program: lowered.program,
    args: lowered.args,
    cwd: plan.cwd,
    files: explainedFiles(plan, lowered, enforcement, workdir),
    filesHeldBy: filesHeldBy[enforcement.class],
    network: lowered.network,
    networkHeldBy: lowered.network.length > 0 ? byProxy : networkHeldBy[enforcement.class],
    env: Object.keys({ ...env, ...networkVariables(grants, enforcement.class) }).sort(),
    limits: explainedLimits(lowered, hold),
    notStopped: notStopped(lowered.class, request.grants ?? {}),
    warnings: files.problems.map(inWordsOfLibrary),
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
  sealed: 'a network namespace with only a loopback of its own, and the system call filter',
  scoped: 'the system call filter, and Landlock for TCP',
  advisory: 'the system call filter',
};
const byProxy = 'a network namespace whose only way out is a proxy in this process, which looks names up and connects';

/** Read off the plan: its mounts where it has a root of its own, else its rules. */
function explainedFiles(
  plan: LaunchPlan,
  lowered: LoweredRequest,
  enforcement: Enforcement,
  workdir: string,
): readonly ExplainedFile[] {
  const seen = enforcement.class === 'sealed' ? mountedFiles(plan) : allowedFiles(plan);
  return [...seen]
    .filter(([path]) => !isBeneath('/dev', path) || path === sharedMemory)
    .map(([path, access]): ExplainedFile => {
      if (access === 'own' || path === workdir) return { path, access: 'own', why: 'own' };
      if (path === '/proc') return { path, access, why: 'own' };
      if (lowered.keptOwn.includes(path)) return { path, access, why: 'kept' };
      return { path, access, why: isGranted(path, access, lowered) ? 'granted' : 'needed' };
    })
    .filter(({ path }) => path !== join(workdir, '.svc', 'home'))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Directories on the way to what is kept are mounted too. */
function isGranted(path: string, access: Access, { granted, grants }: LoweredRequest): boolean {
  if (granted.includes(path)) return true;
  return access.startsWith('write') && (grants.writes ?? []).some((place) => isBeneath(place, path));
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

/** One such thing. */
export interface Unstopped {
  /** A whole sentence for a person. */
  readonly text: string;
  /** The attempts of `sandbox-check` that succeed; none where no attempt of one process can show it. */
  readonly shownBy: readonly string[];
  readonly classes: readonly SandboxClass[];
  /** When the grants make it matter; always, when absent. */
  readonly when?: (grants: Grants) => boolean;
}

const all: readonly SandboxClass[] = ['advisory', 'scoped', 'sealed'];
const belowSealed: readonly SandboxClass[] = ['advisory', 'scoped'];

export const unstopped: readonly Unstopped[] = [
  {
    text: 'Files are not protected: the command can read, change and remove every file of its user, and run every program.',
    shownBy: ['read-outside', 'write-outside', 'remove-outside', 'run-unlisted', 'run-copy'],
    classes: ['advisory'],
  },
  {
    text: 'It can signal other processes of its user, and read their environment.',
    shownBy: ['signal', 'read-environment'],
    classes: ['advisory'],
  },
  {
    text: 'It can see that files outside its grants exist, and change their mode and times where its user may; not their content.',
    shownBy: ['stat-outside', 'watch-outside', 'chmod-outside', 'utimes-outside'],
    classes: ['scoped'],
  },
  {
    text: 'It can have the loader of the system run a copy of a program that it wrote.',
    shownBy: ['load-copy', 'map-library'],
    classes: belowSealed,
  },
  {
    text: 'It can slow down other processes of its user.',
    shownBy: ['slow-down'],
    classes: belowSealed,
  },
  {
    text: 'What it starts and detaches can go on running after it.',
    shownBy: ['daemon'],
    classes: belowSealed,
  },
  {
    text: 'Services of this machine that listen on a UNIX socket with a path can be reached, a container engine among them.',
    shownBy: ['unix-path-when-granted'],
    classes: belowSealed,
    when: ({ unixSockets }) => unixSockets === true,
  },
  {
    text: 'An interpreter that it may run runs any code, and code that was never a file can run.',
    shownBy: ['interpret', 'run-memory'],
    classes: all,
  },
  {
    text: 'Programs that it writes can run.',
    shownBy: ['run-copy-where-granted'],
    classes: all,
    when: ({ runWritten }) => runWritten === true,
  },
  {
    text: 'What it can read it can send to every destination that was granted, and a name may lead to the local network.',
    shownBy: ['listed-host-by-proxy'],
    classes: ['sealed'],
    when: ({ network = [] }) => network.length > 0,
  },
  {
    text: 'Shared memory does not count as memory of a process, and processor time is counted for each process alone.',
    shownBy: ['shared-memory'],
    classes: all,
  },
  { text: 'A bug of the kernel can undo all of this.', shownBy: [], classes: all },
];

/** The sentences that apply to a command. */
function notStopped(wanted: SandboxClass, grants: Grants): readonly string[] {
  return unstopped
    .filter(({ classes, when }) => classes.includes(wanted) && (when?.(grants) ?? true))
    .map(({ text }) => text);
}
