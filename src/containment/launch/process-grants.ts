import type { ResourceLimits } from '../../grants/effective-grants.ts';
import type { WorkdirPath } from '../../grants/filesystem-scope.ts';
import type { NetworkDestination } from '../../manifest/network-destination.ts';

/** What a contained process and everything it starts may do. */
export interface ProcessGrants {
  /** Bare names of `capabilities.shell.allow`: what it may execute beside the program that is started. */
  readonly commands: readonly string[];
  /** The part of the workdir it sees. */
  readonly scope: WorkdirPath;
  readonly writable: boolean;
  /** May execute files of the workdir. */
  readonly workdirExec: boolean;
  readonly networkAllow: readonly NetworkDestination[];
  readonly unixSockets: boolean;
  readonly limits: ResourceLimits;
}
