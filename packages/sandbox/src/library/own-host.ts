/** Finds out once what this machine can enforce for this process. No other file of the library reads the process. */

import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { arch, cwd, env, execArgv, execPath, getuid, platform } from 'node:process';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { type Containment, kernelContainment, strongestEnforcement } from '../containment.ts';
import { abilityOf, architectureOf, findHelper } from '../host-containment.ts';
import { sharedMemory } from '../launch/compose-plan.ts';
import type { Enforcement } from '../launch/enforcement.ts';
import { type HostAbility, minAbiForScoped } from '../launch/host-ability.ts';
import { type OwnGroupFacts, ownGroupFacts } from '../own-facts.ts';
import type { OwnPlace } from '../own-places.ts';
import { ownPlaces, mappedProcess } from '../own-process.ts';
import type { Architecture } from '../seccomp/allowed-calls.ts';
import type { SandboxClass } from './requests.ts';

/** A machine with a helper, as one probe found it. */
interface OwnHost {
  readonly helper: string;
  readonly architecture: Architecture;
  readonly uid: number;
  readonly ability: HostAbility;
}

type HostLookup =
  | { readonly kind: 'found'; readonly host: OwnHost }
  | { readonly kind: 'none'; readonly obstacle: string };

/** What a request needs of this process. */
export interface Surroundings {
  readonly cwd: string;
  readonly searchPath: string;
  /** The directory for temporary files, with links resolved. */
  readonly temporaryDirectory: string;
  /** The directories that may hold the files which contain a command while it runs, with links resolved, the best first. */
  readonly privateDirectories: readonly string[];
  /** The files that this process has loaded, and loads or starts later. They are looked up when a caller reads this. */
  readonly own: readonly OwnPlace[];
}

/** Returns the surroundings of this process. Throws `E-CAP-019` if the current directory is gone, or the directory for temporary files cannot be written. */
export function ownSurroundings(): Surroundings {
  const place = unlessRefused(cwd, null);
  if (place === null) {
    throw new Diagnostic(
      'E-CAP-019',
      'a command is to be run from the current directory, which is not there any more',
      {
        hint: 'go to another directory',
      },
    );
  }
  const temporaryDirectory = writableTemporary();
  return {
    cwd: place,
    searchPath: env['PATH'] ?? '',
    temporaryDirectory,
    // Nothing below /dev of the host is ever granted, and temporary files are.
    privateDirectories: isWritable(sharedMemory) ? [sharedMemory, temporaryDirectory] : [temporaryDirectory],
    get own() {
      return (ownNow ??= ownPlaces(
        mappedProcess({
          packageRoot: packageRoot(),
          node: execPath,
          nodeOptions: execArgv,
          cwd: place,
          env,
          cacheDirectory: kept.directory,
        }),
      ));
    },
  };
}

/** Looked up once for all requests. */
let ownNow: readonly OwnPlace[] | null = null;

function isWritable(path: string): boolean {
  return unlessRefused(() => {
    accessSync(path, constants.W_OK | constants.X_OK);
    return realpathSync(path) === path;
  }, false);
}

function writableTemporary(): string {
  const path = tmpdir();
  try {
    accessSync(path, constants.W_OK);
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const message = `temporary files are to be made in ${path}, and ${systemReason(error)}`;
    throw new Diagnostic('E-CAP-019', message, { hint: 'set TMPDIR to a directory that can be written', cause: error });
  }
}

/** The classes, in the order in which the library tries them. */
export const strongestFirst = ['sealed', 'scoped', 'advisory'] as const;

/** Returns for each class why this machine cannot enforce it, as a clause for a person; null if it can. */
export async function classObstacles(): Promise<Readonly<Record<SandboxClass, string | null>>> {
  const looked = await lookAtHost();
  const of = (wanted: SandboxClass): string | null =>
    looked.kind === 'none' ? looked.obstacle : obstacleTo(wanted, looked.host.ability);
  return { advisory: of('advisory'), scoped: of('scoped'), sealed: of('sealed') };
}

/** What contains a command in one class. */
export interface ClassContainment {
  readonly containment: Containment;
  readonly enforcement: Enforcement;
}

/** Returns what contains a command in this class. Throws `E-CAP-003` if this machine cannot enforce the class, and never takes a weaker one. */
export async function containmentOf(wanted: SandboxClass): Promise<ClassContainment> {
  const looked = await lookAtHost();
  const obstacle = looked.kind === 'none' ? looked.obstacle : obstacleTo(wanted, looked.host.ability);
  if (looked.kind === 'none' || obstacle !== null) throw await classRefusal(wanted, obstacle ?? '');
  // Without control groups: to divide its own group, this process would have to move, and a library must not move its user's process.
  const ownGroups = (): OwnGroupFacts => ({ ...ownGroupFacts(), membership: '' });
  const parts = { ...looked.host, ceiling: wanted, ownGroups };
  const [containment, enforcement] = [kernelContainment(parts), strongestEnforcement(parts)];
  if (containment?.achieved !== wanted || enforcement?.class !== wanted) throw new Error(`${wanted} was there before`);
  return { containment, enforcement };
}

/** Where results of probes are kept. A library keeps nothing on disk. */
let kept: { readonly directory: string | null; readonly triesAnew?: true } = { directory: null };

/**
 * Called by the program, which is started for each command. From now on the result of a probe is kept in `~/.svc/cache`, as sessions keep it, and
 * no command may write there. A missing folder is made; nothing is kept in a home of another user. `anew` probes the host even if a result is kept.
 */
export function keepInHome(home: string | undefined, anew: boolean): void {
  const directory = unlessRefused(() => {
    if (home === undefined || !isAbsolute(home) || statSync(home).uid !== getuid?.()) return null;
    const made = join(home, '.svc', 'cache');
    makeDirectories(made, 0o700);
    return made;
  }, null);
  kept = { directory, ...(anew ? { triesAnew: true } : {}) };
}

let looking: Promise<HostLookup> | null = null;

function lookAtHost(): Promise<HostLookup> {
  return (looking ??= tryHost().catch((error: unknown) => {
    looking = null;
    if (!isSystemError(error)) throw error;
    // A full disk, say: it may be there the next time.
    return { kind: 'none', obstacle: `it could not be tried, since ${error.syscall} answered ${error.code}` };
  }));
}

async function tryHost(): Promise<HostLookup> {
  if (platform !== 'linux') return { kind: 'none', obstacle: `nothing is enforced on ${platform}, only on Linux` };
  const architecture = architectureOf(arch);
  if (architecture === undefined) return { kind: 'none', obstacle: `system calls of ${arch} cannot be filtered` };
  const helper = findHelper({ packageRoot: packageRoot(), platform, architecture: arch });
  if (helper === null) {
    return { kind: 'none', obstacle: 'the helper svc-launch is missing or not executable: install the package anew' };
  }
  const uid = getuid?.() ?? 0;
  const places = { ...kept, cacheDirectory: kept.directory, temporaryDirectory: tmpdir(), uid, kernel: release() };
  const ability = await abilityOf(places, { helper, architecture });
  return { kind: 'found', host: { helper, architecture, uid, ability } };
}

/** The nearest folder above that is a package: it has the helper. */
function packageRoot(): string {
  let folder = dirname(import.meta.filename);
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function obstacleTo(wanted: SandboxClass, { filter, landlockAbi, root, obstacles }: HostAbility): string | null {
  const isThere = {
    advisory: filter,
    scoped: (landlockAbi ?? 0) >= minAbiForScoped,
    sealed: root !== null,
  };
  if (isThere[wanted]) return null;
  return (wanted === 'advisory' ? obstacles.filter : obstacles[wanted]) ?? 'it could not be tried';
}

async function classRefusal(wanted: SandboxClass, obstacle: string): Promise<Diagnostic> {
  const obstacles = await classObstacles();
  const achieved = strongestFirst.find((each) => obstacles[each] === null) ?? null;
  const hint =
    achieved === null
      ? 'run on Linux 6.2 or later with Landlock active, or in a virtual machine that has it'
      : `ask for ${achieved}, which this machine can enforce, or change the machine: "What a host gives" in docs/containment.md`;
  return new Diagnostic('E-CAP-003', `class ${wanted} was asked for and cannot be enforced here: ${obstacle}`, {
    hint,
  });
}
