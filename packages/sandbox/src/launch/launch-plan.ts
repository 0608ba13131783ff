/** Encodes the orders to the helper for one launch. */

/** A namespace that a launch enters on its own. */
export type Namespace = 'user' | 'mount' | 'pid' | 'ipc' | 'net' | 'uts' | 'cgroup';

/** Attributes of a mount, as `mount_setattr` knows them. */
export const mountAttribute = {
  readOnly: 1,
  noSuid: 2,
  noDev: 4,
  noExec: 8,
  /** For `bind`: files show with the owners that the user namespace `mounts` gives them. */
  mapped: 0x10_0000,
  noSymlinks: 0x20_0000,
} as const;

/** One step in the making of a root, in order. Targets are absolute paths in the new root. */
export type RootStep =
  /** The source is canonical: the helper refuses a symbolic link anywhere in it. */
  | { readonly kind: 'bind'; readonly attributes: number; readonly source: string; readonly target: string }
  /** `tmp` is writable by anyone, `tmpfs` by its owner alone. */
  | { readonly kind: 'tmpfs' | 'tmp'; readonly attributes: number; readonly bytes: number; readonly target: string }
  | { readonly kind: 'proc'; readonly attributes: number; readonly target: string }
  | { readonly kind: 'directory'; readonly target: string }
  | { readonly kind: 'symlink'; readonly text: string; readonly target: string };

/** Landlock's bit masks. The kernel refuses what is handled unless a rule allows it. */
export interface LandlockRules {
  readonly handled: { readonly filesystem: bigint; readonly network: bigint; readonly scope: bigint };
  /** Canonical paths, as in `bind`. */
  readonly paths: readonly { readonly rights: bigint; readonly path: string }[];
  readonly ports: readonly { readonly rights: bigint; readonly port: number }[];
}

export interface ResourceLimit {
  /** The number of `RLIMIT_*`. */
  readonly resource: number;
  readonly soft: bigint;
  readonly hard: bigint;
}

/** User namespaces that exist already, for many launches, by their paths. */
export interface KeptUsers {
  readonly programs: string;
  /** The user to become inside. */
  readonly uid: number;
  readonly gid: number;
  /** The namespace that maps binds with the attribute `mapped`; null where owners need no mapping. */
  readonly mounts: string | null;
  /** How many processes may live in the namespace, the helper's own included; null sets no limit. */
  readonly processes: number | null;
  /** The user that the processes around the program count as; null counts them as the program's. */
  readonly around: number | null;
}

/** Programs that a launch starts and its caller is asked about. */
export interface AskedExecs {
  /** The descriptor of the socket over which that happens. */
  readonly socket: number;
  /** The names of these programs; all programs where it is empty. */
  readonly names: readonly string[];
}

/** The descriptor of the helper for that: the first behind those that every launch has. */
export const execsAt = 7;

/** The most names that the helper holds programs against. */
const maxNames = 1024;

export function askedExecs(names: readonly string[]): AskedExecs {
  return { socket: execsAt, names: names.length > maxNames ? [] : names };
}

/** Control groups that a launch joins. */
export interface JoinedGroups {
  /** The files to join them by: `cgroup.procs`, of version 1 `tasks`. At most four. */
  readonly joins: readonly string[];
  /** The file with the number of processes in one, and the limit with the one that joins; null where nobody counts. */
  readonly room: { readonly count: string; readonly most: number } | null;
}

/** Everything `svc-launch` does before it starts a program, whatever the program (`native/svc-launch/PLAN.md`). */
export interface LaunchPlan {
  /** The helper opens them as its caller, and joins them as the program. */
  readonly cgroups: JoinedGroups;
  /** The user to become; null keeps the caller's. */
  readonly identity: { readonly uid: number; readonly gid: number } | null;
  /** Null joins no user namespace. Excludes `identity`. */
  readonly users: KeptUsers | null;
  readonly namespaces: readonly Namespace[];
  /** The user inside a `user` namespace; null keeps the numbers. */
  readonly inside: { readonly uid: number; readonly gid: number } | null;
  readonly hostname: string | null;
  /** In a `net` namespace: nothing, a loopback of its own, or one with a listening socket that the helper hands to its caller. */
  readonly network: { readonly kind: 'none' | 'loopback' } | { readonly kind: 'listen'; readonly port: number };
  /** Empty keeps the host's root. */
  readonly root: readonly RootStep[];
  readonly cwd: string;
  readonly limits: readonly ResourceLimit[];
  /** Null asks about no program. */
  readonly execs: AskedExecs | null;
  readonly landlock: LandlockRules | null;
}

/** The most that the helper reads of a plan. */
const maxBytes = 1024 * 1024;

/** A plan that asks for nothing. */
export const barePlan: LaunchPlan = {
  identity: null,
  cgroups: { joins: [], room: null },
  users: null,
  namespaces: [],
  inside: null,
  hostname: null,
  network: { kind: 'none' },
  root: [],
  cwd: '/',
  limits: [],
  execs: null,
  landlock: null,
};

/** The most steps of the root, and the most rules, that the helper carries out. */
const maxEach = 1024;

/** Returns why the helper would not take a plan, as a clause for a person; null if it would. */
export function planFault(plan: LaunchPlan): string | null {
  return faultOf(plan, bytesOf(plan));
}

/** A plan that is too large for the helper; the message is a clause for a person. */
export class UnfitPlan extends Error {}

/** The bytes of a plan. Throws `UnfitPlan` for one that the helper would not take, and on a path with a NUL, which no file has. */
export function encodeLaunchPlan(plan: LaunchPlan): Buffer {
  const bytes = bytesOf(plan);
  const fault = faultOf(plan, bytes);
  if (fault !== null) throw new UnfitPlan(fault);
  return bytes;
}

function faultOf({ root, landlock }: LaunchPlan, { length }: Buffer): string | null {
  const rules = landlock === null ? 0 : landlock.paths.length + landlock.ports.length;
  const most = Math.max(root.length, rules);
  if (most > maxEach)
    return `what it is granted and what its programs need are ${most} places, and a launch has room for ${maxEach}: ${hint}`;
  if (length > maxBytes)
    return `the paths of what it is granted and of what its programs need take ${length} bytes, and a launch has room for ${maxBytes}: ${hint}`;
  return null;
}

const hint = 'grant directories instead of what is in them';

function bytesOf(plan: LaunchPlan): Buffer {
  const words = ['svc-launch-plan', '1', ...wordsOf(plan), 'end'];
  if (words.some((word) => word.includes('\0'))) throw new Error('a word of a launch plan holds a NUL');
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}

function* wordsOf(plan: LaunchPlan): Generator<string> {
  const { identity, cgroups, users, namespaces, inside, hostname, network, root, cwd, limits, execs, landlock } = plan;
  for (const group of cgroups.joins) yield* ['cgroup', group];
  if (cgroups.room !== null) yield* ['room', cgroups.room.count, `${cgroups.room.most}`];
  if (identity !== null) yield* ['id', `${identity.uid}`, `${identity.gid}`];
  if (users !== null) yield* usersWords(users);
  if (namespaces.length > 0) yield* ['unshare', namespaces.join(',')];
  if (inside !== null) yield* ['map', `${inside.uid}`, `${inside.gid}`];
  if (hostname !== null) yield* ['hostname', hostname];
  if (network.kind === 'loopback') yield 'loopback';
  if (network.kind === 'listen') yield* ['listen', `${network.port}`];
  for (const step of root) yield* rootWords(step);
  yield* ['cwd', cwd];
  for (const { resource, soft, hard } of limits) yield* ['limit', `${resource}`, `${soft}`, `${hard}`];
  if (execs !== null) yield* execsWords(execs);
  if (landlock !== null) yield* landlockWords(landlock);
}

function* usersWords({ programs, uid, gid, mounts, processes, around }: KeptUsers): Generator<string> {
  yield* ['users', programs, `${uid}`, `${gid}`];
  if (mounts !== null) yield* ['mounts', mounts];
  if (processes !== null) yield* ['processes', `${processes}`];
  if (around !== null) yield* ['around', `${around}`];
}

function rootWords(step: RootStep): string[] {
  switch (step.kind) {
    case 'bind':
      return ['bind', `${step.attributes}`, step.source, step.target];
    case 'tmpfs':
    case 'tmp':
      return [step.kind, `${step.attributes}`, `${step.bytes}`, step.target];
    case 'proc':
      return ['proc', `${step.attributes}`, step.target];
    case 'directory':
      return ['directory', step.target];
    case 'symlink':
      return ['symlink', step.text, step.target];
  }
}

function* execsWords({ socket, names }: AskedExecs): Generator<string> {
  yield* ['execs', `${socket}`];
  for (const name of names) yield* ['program', name];
}

function* landlockWords({ handled, paths, ports }: LandlockRules): Generator<string> {
  yield* ['landlock', `${handled.filesystem}`, `${handled.network}`, `${handled.scope}`];
  for (const { rights, path } of paths) yield* ['allow', `${rights}`, path];
  for (const { rights, port } of ports) yield* ['port', `${rights}`, `${port}`];
}
