/** Composes the plan of a launch, its root and its rules for Landlock, from grants and from what the kernel can enforce. */

import { join } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { connects, containedHome, egressPortOf, opensTemporary, temporary } from '../contained-environment.ts';
import {
  countsAlone,
  countsApart,
  launchesAreBounded,
  type LimitHold,
  sessionProcesses,
} from '../limits/held-limits.ts';
import type { CollectedFiles } from '../closure/file-collection.ts';
import type { ComposedRoot } from './host-ability.ts';
import { isBelowAny, outermost, waysTo } from './mount-places.ts';
import {
  type KeptUsers,
  type LandlockRules,
  type LaunchPlan,
  type Namespace,
  type ResourceLimit,
  mountAttribute,
  askedExecs,
  type RootStep,
} from './launch-plan.ts';
import { type ProcessGrants, type RepositoryData, storePlace, type ResourceLimits } from './process-grants.ts';
import { projectPlace as placeInRoot, projectSteps } from './project-steps.ts';
import { shownReads, shownSteps } from './shown-folder.ts';
import type { Enforcement } from './enforcement.ts';

export interface PlanRequest {
  readonly enforcement: Enforcement;
  readonly files: CollectedFiles;
  readonly grants: ProcessGrants;
  readonly cgroups: LaunchPlan['cgroups'];
  /** The user namespaces that launches of the session share; null without any. */
  readonly users: SessionNamespaces | null;
  /** The accessible workdir, links resolved. */
  readonly workdir: string;
  /** Processes of this user that run already; not used where `countsAlone`. */
  readonly processesRunning: number;
}

/** The user namespaces of a session, without what a launch in them may do. */
export type SessionNamespaces = Omit<KeptUsers, 'processes' | 'around'>;

/** Beside the program of a launch, the two processes that watch over it. */
export const supervisors = 2;

/** Who they are, where a namespace has more than one user. */
const aroundUser = 1;

/** Asks nothing of the host: the same request gives the same plan. */
export function composePlan(request: PlanRequest): LaunchPlan {
  const { enforcement, grants, cgroups, users, workdir } = request;
  const sealed = enforcement.class === 'sealed' ? enforcement : null;
  return {
    identity: null,
    cgroups,
    users: users === null ? null : joinedUsers(users, grants.limits),
    namespaces: sealed === null ? [] : namespacesOf(sealed.root, users !== null && !launchesAreBounded(grants.limits)),
    inside: null,
    hostname: sealed === null ? null : 'capsule',
    network: networkOf(sealed !== null, grants),
    root: sealed === null ? [] : composeRoot({ ...request, proc: sealed.root.proc, mapped: users?.mounts != null }),
    cwd: grants.cwd ?? projectPlace(request) ?? join(workdir, grants.scope),
    limits: limitsOf(grants.limits, processesBeside(request)),
    execs: execsOf(enforcement, grants),
    landlock: enforcement.class === 'advisory' ? null : landlockOf(request, enforcement),
  };
}

/** Where a launch has its project folder; null without one, and where that is the workdir. */
function projectPlace({ enforcement, grants: { project }, workdir }: PlanRequest): string | null {
  if (project === undefined || project.isWorkdir) return null;
  return enforcement.class === 'sealed' ? placeInRoot(project, workdir) : project.path;
}

/** A program is only started where there is room for it beside the process that starts it. */
function joinedUsers(users: SessionNamespaces, limits: ResourceLimits): KeptUsers {
  const most = sessionProcesses(limits);
  if (!countsApart(heldBy(users), limits)) return { ...users, processes: most + supervisors, around: null };
  return { ...users, processes: most + 1, around: aroundUser };
}

function heldBy({ mounts }: SessionNamespaces): Pick<LimitHold, 'users'> {
  return { users: mounts === null ? 'own' : 'mapped' };
}

/** Throws where programs could reach what stops them. */
function execsOf(enforcement: Enforcement, { gate }: ProcessGrants): LaunchPlan['execs'] {
  if (gate === undefined) return null;
  if (enforcement.class === 'advisory') throw new Error('programs are judged in scoped and sealed alone');
  return askedExecs(gate.names);
}

/** What counts against the limit of a launch beside its programs. */
function processesBeside({ enforcement, users, grants, processesRunning }: PlanRequest): number {
  // Without a namespace for processes, one more watches over a program whose programs are judged.
  const tracer = grants.gate === undefined ? 0 : 1;
  if (!countsAlone(enforcement)) return processesRunning + tracer;
  return users !== null && countsApart(heldBy(users), grants.limits) ? 0 : supervisors;
}

/** Where what launches of a session share does for each of them too, none has a user namespace of its own beside it. */
function namespacesOf({ userNamespace }: ComposedRoot, isShared: boolean): readonly Namespace[] {
  const own: readonly Namespace[] = ['mount', 'pid', 'ipc', 'net', 'uts', 'cgroup'];
  return userNamespace && !isShared ? ['user', ...own] : own;
}

/** In a network of its own a process reaches what the proxy lets it reach, and nothing without one. */
function networkOf(sealed: boolean, grants: ProcessGrants): LaunchPlan['network'] {
  if (!sealed) return { kind: 'none' };
  return connects(grants) ? { kind: 'listen', port: egressPortOf(grants) } : { kind: 'loopback' };
}

const [cpuSeconds, fileBytes, dataBytes, coreBytes, processes, openFiles] = [0, 1, 2, 4, 6, 7];

/**
 * `dataBytes` counts private memory alone: programs reserve address space far beyond what they use. `processes` counts all of a user,
 * not those of one launch, so that what runs already is added.
 */
function limitsOf(limits: ResourceLimits, beside: number): readonly ResourceLimit[] {
  const bounds: readonly (readonly [number, number])[] = [
    [cpuSeconds, limits.cpu],
    [fileBytes, limits.file_size],
    [dataBytes, limits.memory],
    // None at all would still go to a program that collects them.
    [coreBytes, 1],
    [processes, Math.min(limits.processes, sessionProcesses(limits)) + beside],
    [openFiles, limits.open_files],
  ];
  return bounds.map(([resource, most]) => ({ resource, soft: BigInt(most), hard: BigInt(most) }));
}

function landlockOf(
  request: PlanRequest,
  { class: wanted, landlockAbi }: { readonly class: 'scoped' | 'sealed'; readonly landlockAbi: number },
): LandlockRules {
  const { files, grants, workdir } = request;
  const sealed = wanted === 'sealed';
  const ports = landlockAbi >= 4 ? portsOf(grants, sealed) : [];
  const handled = handledRights(landlockAbi);
  const network = ports === 'any' ? handled.network & tcpRight.bind : handled.network;
  return {
    handled: { ...handled, network },
    paths: [
      ...files.execute.map((path) => ({ rights: fileRights.execute, path })),
      ...readable(request).map((path) => ({ rights: fileRights.read, path })),
      ...workdirRules(grants, workdir),
      ...projectRules(request),
      ...grants.stores.map((store) => ({
        rights: fileRights.write,
        path: sealed ? storePlace(store, workdir) : store.path,
      })),
      ...(sealed ? [...(opensTemporary(grants.project) ? [temporary] : []), sharedMemory] : []).map((path) => ({
        rights: fileRights.write,
        path,
      })),
      ...devices.map((name) => ({ rights: fileRights.device, path: `/dev/${name}` })),
    ],
    ports: ports === 'any' ? [] : ports.map((port) => ({ rights: tcpRight.connect, port })),
  };
}

/** A composed root holds only what was granted, unless it shows a working tree around the project folder. */
function readable({ enforcement, files, grants, workdir }: PlanRequest): readonly string[] {
  const git = grants.project?.git ?? null;
  const isSealed = enforcement.class === 'sealed';
  if (isSealed && (git === null || git.around === null)) return ['/'];
  const ofSystem = files.read.filter((path) => !files.execute.includes(path));
  const ofRoot = isSealed ? ['/dev', ...(enforcement.root.proc ? ['/proc'] : [])] : [];
  return [...ofSystem, ...ofRoot, ...(git?.reads ?? []), ...shownReads(grants, workdir, isSealed)];
}

function workdirRules(grants: ProcessGrants, workdir: string): LandlockRules['paths'] {
  const { scope, writable, workdirExec, unixSockets, writes = [], project } = grants;
  const run = workdirExec ? fileRights.runHere : 0n;
  const sockets = unixSockets ? fileRights.makeSocket : 0n;
  const write = fileRights.write | sockets;
  return [
    ...writes.map((path) => ({ rights: write | run, path })),
    ...scopeRules((writable ? write : fileRights.read) | run, join(workdir, scope), project),
    { rights: write | run, path: containedHome(workdir) },
  ];
}

/** Rules only add up: where something of the workdir is masked, a directory that holds it can be listed and nothing more, and what is not masked is named. */
function scopeRules(rights: bigint, place: string, project: ProcessGrants['project']): LandlockRules['paths'] {
  if (project?.isWorkdir !== true || project.parts === null) return [{ rights, path: place }];
  if (project.parts.some((part) => isBeneath(part, place))) return [{ rights, path: place }];
  const parts = project.parts.filter((part) => isBeneath(place, part));
  return [{ rights: fileRights.list, path: place }, ...parts.map((path) => ({ rights, path }))];
}

/** Rules only add up: where something is masked, the folder itself can be listed and nothing more, and what is not masked is named. */
function projectRules(request: PlanRequest): LandlockRules['paths'] {
  const { project, workdirExec, writable } = request.grants;
  const place = projectPlace(request);
  if (project === undefined || place === null) return [];
  const run = workdirExec ? fileRights.runHere : 0n;
  const rights = (project.writable && writable ? fileRights.write : fileRights.read) | run;
  const data = repositoryRules(project.git, writable);
  if (request.enforcement.class === 'sealed' || project.parts === null) return [{ rights, path: place }, ...data];
  return [{ rights: fileRights.list, path: place }, ...project.parts.map((path) => ({ rights, path })), ...data];
}

/** Git looks for new files from the top of the working tree down: names of what is there are listed, and no file is opened. */
function repositoryRules(git: RepositoryData | null, mayWrite: boolean): LandlockRules['paths'] {
  if (git === null) return [];
  const { path, writable, around } = git;
  return [
    { rights: writable && mayWrite ? fileRights.write : fileRights.read, path },
    ...(around === null ? [] : [{ rights: fileRights.list, path: around }]),
  ];
}

/** Landlock knows ports, not hosts: an allow-list narrows the ports at most, and a host without a port none. */
function portsOf(grants: ProcessGrants, sealed: boolean): readonly number[] | 'any' {
  const { networkAllow, servicePort } = grants;
  if (sealed) return connects(grants) ? [egressPortOf(grants)] : [];
  const ports = new Set<number>(servicePort === undefined ? [] : [servicePort]);
  if (networkAllow.length > 0) ports.add(nameServicePort);
  for (const { port } of networkAllow) {
    if (port === null) return 'any';
    ports.add(port);
  }
  return [...ports].sort((one, other) => one - other);
}

const nameServicePort = 53;

/** Rights on files, as the kernel numbers them. */
const right = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readDirectory: 1n << 3n,
  removeDirectory: 1n << 4n,
  removeFile: 1n << 5n,
  makeCharacterDevice: 1n << 6n,
  makeDirectory: 1n << 7n,
  makeRegular: 1n << 8n,
  makeSocket: 1n << 9n,
  makeFifo: 1n << 10n,
  makeBlockDevice: 1n << 11n,
  makeSymlink: 1n << 12n,
  refer: 1n << 13n,
  truncate: 1n << 14n,
  ioctlDevice: 1n << 15n,
} as const;

const upTo = (last: bigint): bigint => (last << 1n) - 1n;

/** Everything this version can refuse is refused unless a rule allows it. */
function handledRights(abi: number): LandlockRules['handled'] {
  return {
    filesystem: upTo(abi >= 5 ? right.ioctlDevice : right.truncate),
    network: abi >= 4 ? tcpRight.bind | tcpRight.connect : 0n,
    // Abstract sockets, signals.
    scope: abi >= 6 ? 3n : 0n,
  };
}

const tcpRight = { bind: 1n, connect: 2n } as const;

const read = right.readFile | right.readDirectory;

/** What a rule may allow below a path. */
export const fileRights = {
  list: right.readDirectory,
  read,
  execute: read | right.execute,
  write:
    read |
    right.writeFile |
    right.truncate |
    right.removeFile |
    right.removeDirectory |
    right.makeDirectory |
    right.makeRegular |
    right.makeFifo |
    right.makeSymlink |
    right.refer,
  makeSocket: right.makeSocket,
  device: right.readFile | right.writeFile | right.truncate | right.ioctlDevice,
  runHere: right.execute,
} as const;

/** Device files that every program may use. */
const devices: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom'];

interface RootRequest {
  /** What its programs need, and what it is granted besides. */
  readonly files: CollectedFiles;
  readonly grants: ProcessGrants;
  readonly workdir: string;
  /** Whether the root can mount a `proc` of its own. */
  readonly proc: boolean;
  /** Whether files show with the owners that the session's namespace of mounts gives them. */
  readonly mapped: boolean;
}

export const sharedMemory = '/dev/shm';

const { readOnly, noSuid, noDev, noExec, mapped: mappedOwners } = mountAttribute;
const mebibyte = 1024 * 1024;
const temporaryBytes = 256 * mebibyte;

/**
 * The root of a sealed process: the files its programs need, read-only; a `/tmp`, devices and `/proc` of its own; its stores; the workdir
 * where the host has it, and what else may be written. In an order in which nothing hides what came before: `/tmp` ahead of a workdir inside it.
 */
export function composeRoot({ files, grants, workdir, proc, mapped }: RootRequest): readonly RootStep[] {
  const mounted = outermost([...files.execute, ...files.read]);
  const owners = mapped ? mappedOwners : 0;
  const directories = new Set(mounted);
  const links = files.links.filter(({ path }) => !isBelowAny(path, directories));
  return [
    { kind: 'tmp', attributes: noSuid | noDev | noExec, bytes: temporaryBytes, target: temporary },
    ...links.map(({ path, target }): RootStep => ({ kind: 'symlink', text: target, target: path })),
    ...mounted.map((path): RootStep => ({
      kind: 'bind',
      attributes: readOnly | noSuid | noDev | owners,
      source: path,
      target: path,
    })),
    ...(grants.bound?.covers ?? [])
      .filter(({ target }) => directories.has(target) || isBelowAny(target, directories))
      .map(({ source, target }): RootStep => ({
        kind: 'bind',
        attributes: readOnly | noSuid | noDev | owners,
        source,
        target,
      })),
    ...deviceSteps,
    ...(proc ? [procStep] : []),
    ...grants.stores.map((store): RootStep => ({
      kind: 'bind',
      attributes: noSuid | noDev | noExec | owners,
      source: store.path,
      target: storePlace(store, workdir),
    })),
    ...writableSteps(grants, workdir, owners),
    ...projectSteps(grants, workdir, owners),
    ...homeSteps(grants, workdir, owners),
    ...shownSteps(grants, workdir, owners),
  ];
}

const procStep: RootStep = { kind: 'proc', attributes: readOnly | noSuid | noDev | noExec, target: '/proc' };

const deviceSteps: readonly RootStep[] = [
  { kind: 'tmpfs', attributes: noSuid | noExec, bytes: mebibyte, target: '/dev' },
  // Read-only keeps their modes and owners; what is written to a device does not pass the file system.
  ...devices.map((name): RootStep => ({
    kind: 'bind',
    attributes: readOnly | noSuid | noExec,
    source: `/dev/${name}`,
    target: `/dev/${name}`,
  })),
  { kind: 'symlink', text: '/proc/self/fd', target: '/dev/fd' },
  { kind: 'symlink', text: '/proc/self/fd/0', target: '/dev/stdin' },
  { kind: 'symlink', text: '/proc/self/fd/1', target: '/dev/stdout' },
  { kind: 'symlink', text: '/proc/self/fd/2', target: '/dev/stderr' },
  { kind: 'tmp', attributes: noSuid | noDev | noExec, bytes: temporaryBytes, target: sharedMemory },
];

/** The workdir comes last, after what may be written beside it and what of that may not. */
function writableSteps(grants: ProcessGrants, workdir: string, owners: number): readonly RootStep[] {
  const { scope, writable, writes = [], kept = [] } = grants;
  const attributes = ownAttributes(grants, owners);
  const places = outermost(writes);
  return [
    ...places.map((path) => bindInPlace(path, attributes)),
    ...waysTo(outermost(kept), places).map((path) => bindInPlace(path, attributes)),
    ...outermost(kept).map((path) => bindInPlace(path, attributes | readOnly)),
    bindInPlace(join(workdir, scope), attributes | (writable ? 0 : readOnly)),
  ];
}

/** The home lies in the workdir and is the process's own also where the scope leaves it out, or what is kept of the workdir closes it. */
function homeSteps(grants: ProcessGrants, workdir: string, owners: number): readonly RootStep[] {
  const { scope, writable, project } = grants;
  if (scope === '.' && writable && project?.isWorkdir !== true) return [];
  return [bindInPlace(containedHome(workdir), ownAttributes(grants, owners))];
}

function ownAttributes({ workdirExec }: ProcessGrants, owners: number): number {
  return owners | noSuid | noDev | (workdirExec ? 0 : noExec);
}

function bindInPlace(path: string, attributes: number): RootStep {
  return { kind: 'bind', attributes, source: path, target: path };
}
