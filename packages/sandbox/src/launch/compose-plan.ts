/** Composes the plan of a launch from grants and from what the kernel can enforce. */

import { join } from 'node:path';
import { containedHome, egressPort } from '../contained-environment.ts';
import {
  countsAlone,
  countsApart,
  launchesAreBounded,
  type LimitHold,
  sessionProcesses,
} from '../limits/held-limits.ts';
import { composeRoot, sharedMemory, temporary } from './compose-root.ts';
import type { ComposedRoot } from './host-ability.ts';
import type { KeptUsers, LandlockRules, LaunchPlan, Namespace, ResourceLimit } from './launch-plan.ts';
import { devices, type NeededFiles } from './needed-files.ts';
import { connects, type ProcessGrants, storePlace, type ResourceLimits } from './process-grants.ts';

/** What the kernel enforces around one launch. */
export type Enforcement =
  | { readonly class: 'sealed'; readonly landlockAbi: number; readonly root: ComposedRoot }
  | { readonly class: 'scoped'; readonly landlockAbi: number }
  /** A system call filter only. */
  | { readonly class: 'advisory' };

export interface PlanRequest {
  readonly enforcement: Enforcement;
  readonly files: NeededFiles;
  readonly grants: ProcessGrants;
  readonly cgroups: LaunchPlan['cgroups'];
  /** The user namespaces that launches of the session share; null where there are none. */
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
    cwd: grants.cwd ?? join(workdir, grants.scope),
    limits: limitsOf(grants.limits, processesBeside(request)),
    landlock: enforcement.class === 'advisory' ? null : landlockOf(request, enforcement),
  };
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

/** What counts against the limit of a launch beside its programs. */
function processesBeside({ enforcement, users, grants, processesRunning }: PlanRequest): number {
  if (!countsAlone(enforcement)) return processesRunning;
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
  return connects(grants) ? { kind: 'listen', port: egressPort } : { kind: 'loopback' };
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
      // A composed root holds nothing but what was granted.
      ...(sealed ? ['/'] : files.read.filter((path) => !files.execute.includes(path))).map((path) => ({
        rights: fileRights.read,
        path,
      })),
      ...workdirRules(grants, workdir),
      ...grants.stores.map((store) => ({
        rights: fileRights.write,
        path: sealed ? storePlace(store, workdir) : store.path,
      })),
      ...(sealed ? [temporary, sharedMemory] : []).map((path) => ({ rights: fileRights.write, path })),
      ...devices.map((name) => ({ rights: fileRights.device, path: `/dev/${name}` })),
    ],
    ports: ports === 'any' ? [] : ports.map((port) => ({ rights: tcpRight.connect, port })),
  };
}

function workdirRules(grants: ProcessGrants, workdir: string): LandlockRules['paths'] {
  const { scope, writable, workdirExec, unixSockets, writes = [] } = grants;
  const run = workdirExec ? fileRights.runHere : 0n;
  const sockets = unixSockets ? fileRights.makeSocket : 0n;
  const write = fileRights.write | sockets;
  return [
    ...writes.map((path) => ({ rights: write | run, path })),
    { rights: (writable ? write : fileRights.read) | run, path: join(workdir, scope) },
    { rights: write | run, path: containedHome(workdir) },
  ];
}

/** Landlock knows ports, not hosts: an allow-list narrows the ports at most, and a host without a port none. */
function portsOf(grants: ProcessGrants, sealed: boolean): readonly number[] | 'any' {
  const { networkAllow, servicePort } = grants;
  if (sealed) return connects(grants) ? [egressPort] : [];
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

/** The first version that keeps a process from signaling others and from reaching abstract sockets of the host. */
export const leastAbiForScoped = 6;

/**
 * The versions at which the kernel learned new rights, newest first; between them nothing changes here. Before the last of them a file
 * could be emptied unseen.
 */
export const landlockAbis: readonly number[] = [6, 5, 4, 3];

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
