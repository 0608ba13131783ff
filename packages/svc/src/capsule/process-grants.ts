import { homeBelow } from '@svc/sandbox/contained-environment.ts';
import type { ProcessGrants, StoreDirectory } from '@svc/sandbox/launch/process-grants.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import { flagsOf } from '@svc/artifacts/grants/flag-grants.ts';

/** What the commands of a capsule may do, and its driver when that is a program. State stores belong to artifacts: they have none. */
export function capsuleProcesses(grants: EffectiveGrants): ProcessGrants {
  return {
    commands: grants.shellAllow,
    scope: grants.filesystemScope ?? '.',
    writable: !grants.readOnly,
    ...flagsOf(grants),
    stores: [],
    networkAllow: grants.networkAllow,
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
    ...flagsOf(own),
    stores,
    networkAllow: own.networkAllow,
    limits: capsule.resources,
  };
}
