import { homeBelow } from '@svc/sandbox/contained-environment.ts';
import type { ProcessGrants, StoreDirectory } from '@svc/sandbox/launch/process-grants.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';

/** What the commands of a capsule may do, and its driver when that is a program. State stores belong to artifacts: they have none. */
export function capsuleProcesses(grants: EffectiveGrants): ProcessGrants {
  return {
    commands: grants.shellAllow,
    scope: grants.filesystemScope ?? '.',
    writable: !grants.readOnly,
    workdirExec: grants.workdirExec,
    stores: [],
    networkAllow: grants.networkAllow,
    unixSockets: grants.unixSockets,
    limits: grants.resources,
  };
}

/**
 * What a native tool may do: its own grants, and of the commands those of its capsule. One that is left nothing of the workdir has the
 * home that every process has.
 */
export function toolProcesses(
  own: ArtifactGrants,
  capsule: EffectiveGrants,
  stores: readonly StoreDirectory[],
): ProcessGrants {
  return {
    commands: capsule.shellAllow,
    scope: own.preopen?.scope ?? homeBelow,
    writable: own.preopen?.writable ?? false,
    workdirExec: own.workdirExec,
    stores,
    networkAllow: own.networkAllow,
    unixSockets: own.unixSockets,
    limits: capsule.resources,
  };
}
