/** What a contained process may do. */

import { type FlagGrants, noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import type { BoundNetwork } from '../egress/bound-network.ts';
import type { ProgramJudge } from '../launcher.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ShownFolder } from './shown-folder.ts';

/** A state store: a directory outside the workdir that a process may read and write, and not run programs of. */
export interface StoreDirectory {
  readonly name: string;
  /** On the host, links resolved. */
  readonly path: string;
}

/** Bounds of one started program and of all programs of its session together, in bytes and seconds; named as the scope report names them. */
export interface ResourceLimits {
  readonly processes: number;
  readonly open_files: number;
  readonly file_size: number;
  readonly cpu: number;
  readonly memory: number;
  readonly session_processes?: number | undefined;
  readonly session_memory?: number | undefined;
}

/** A part of a project folder that is not shown. */
export interface MaskedPlace {
  /** Below the folder, with forward slashes. */
  readonly path: string;
  readonly isDirectory: boolean;
}

/** A part of a project folder that may be written and is kept where it is, so that nothing else takes its name. */
export interface KeptPlace {
  /** As of `MaskedPlace`. */
  readonly path: string;
  /** Whether what is in it may be changed. */
  readonly writable: boolean;
}

/** The data of a repository that lies outside of the folder whose working tree it is. */
export interface RepositoryData {
  /** On the host, links resolved. */
  readonly path: string;
  readonly writable: boolean;
  /** As of a project folder. */
  readonly kept: readonly KeptPlace[];
  /** The working tree around the folder, of which programs list names, and read `reads` only. Is null where the folder is all of it. */
  readonly around: string | null;
  readonly reads: readonly string[];
}

/** A folder of the host that somebody has given to a session: programs see it as `project/` of their workdir, where they start, or it is the workdir. */
export interface ProjectFolder {
  /** On the host, links resolved. */
  readonly path: string;
  readonly isWorkdir: boolean;
  readonly writable: boolean;
  /** Parts that no program may read, none in another. */
  readonly masked: readonly MaskedPlace[];
  /** Whether what git runs stays as it is for who may write. */
  readonly keepsGit: boolean;
  /** Parts of the program itself in it, if it is writable, and the directories on the way there; those above others first. */
  readonly own: readonly KeptPlace[];
  /** All that is kept, where mounts keep it; those above others first. */
  readonly kept: readonly KeptPlace[];
  /** Is mounted where the host has it, and so is the folder then; null where none lies outside of the folder. */
  readonly git: RepositoryData | null;
  /** Where nothing can be mounted over those: the places that may be read instead of the whole, absolute; null for the whole. */
  readonly parts: readonly string[] | null;
  /** Brings `masked`, `kept` and `parts` up to date, for the next launch. Throws the Diagnostic of a folder that cannot be masked. */
  look(): void;
}

/**
 * What a contained process and everything it starts may do. `workdirExec` is about files of the workdir and of `writes`; what sockets
 * `unixSockets` stands for depends on the class.
 */
export interface ProcessGrants extends FlagGrants {
  /** Bare names of `capabilities.shell.allow`: what it may execute beside the program that is started. */
  readonly commands: readonly string[];
  /** The part of the workdir it sees: a path below it in its normal spelling, `.` for all of it. */
  readonly scope: string;
  readonly writable: boolean;
  readonly stores: readonly StoreDirectory[];
  /** Files and directories of the host that it may read beside what its programs need; none when absent. */
  readonly reads?: readonly string[];
  /** Files and directories of the host that a manifest lists for reading: programs in them run too, with their libraries; none when absent. */
  readonly hostReads?: readonly string[];
  /** Directories of the host whose programs it may run, and which it may read whole; none when absent. */
  readonly trees?: readonly string[];
  /** Files and directories of the host, beside the workdir, that it may read and write where they are; none when absent. */
  readonly writes?: readonly string[];
  /** Places inside `writes` that it may read only, which takes a root of its own; none when absent. */
  readonly kept?: readonly string[];
  /** None when absent. */
  readonly project?: ProjectFolder;
  /** None when absent. */
  readonly shown?: ShownFolder;
  /** Where it starts, an absolute path that it may read; its project folder or its part of the workdir when absent. */
  readonly cwd?: string;
  readonly networkAllow: readonly NetworkDestination[];
  /** Whether a launch may ask for further hosts (`LaunchRequest.mayReach`), for which its way out is there without any; not when absent. */
  readonly asksHosts?: boolean;
  /** What is held of requests to some of these hosts in a network of its own; nothing more than their names when absent. */
  readonly bound?: BoundNetwork;
  /** Programs that it starts are judged; none is when absent. Not of class `advisory`. */
  readonly gate?: ProgramGate;
  /** A port of this host's loopback at which the runtime itself serves the process; none when absent. */
  readonly servicePort?: number;
  readonly limits: ResourceLimits;
}

/** Has programs judged that a launch starts. */
export interface ProgramGate {
  /** The names of those; all where it is empty. */
  readonly names: readonly string[];
  /** For launches that bring no judge. */
  readonly otherwise: ProgramJudge;
}

/** The grants of a process that may use only its workdir. */
export const minimalGrants: ProcessGrants = {
  commands: [],
  scope: '.',
  writable: true,
  ...noFlags,
  stores: [],
  networkAllow: [],
  limits: {
    processes: 128,
    open_files: 1024,
    file_size: 64 * 1024 * 1024,
    cpu: 60,
    memory: 512 * 1024 * 1024,
  },
};

const stateRoot = '/state';

/** Where components, and programs in a root of their own, have a state store. */
export function statePath(store: string): string {
  return `${stateRoot}/${store}`;
}

/**
 * Where a composed root has a state store: where components know it, or, with a workdir there, where the host has it. One of the two
 * would hide the other.
 */
export function storePlace({ name, path }: StoreDirectory, workdir: string): string {
  return `${workdir}/`.startsWith(`${stateRoot}/`) ? path : statePath(name);
}
