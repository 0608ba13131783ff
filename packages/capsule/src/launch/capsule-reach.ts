/** Says what a capsule gets of this machine's network, environment and files. */

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import { type LoadedManifest, notifiedAddress } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { destinationOf, formatDestination } from '@svc/kit/net/network-destination.ts';
import { registryOf } from './package-runner.ts';

export interface CapsuleReach {
  /** The host of its model first. */
  readonly hosts: readonly string[];
  /** Names of the variables that commands get, and of those that the manifest refers to, for its keys and secrets too. */
  readonly variables: readonly string[];
  /** Paths of this machine that its programs read; absent for a capsule without any. */
  readonly reads?: readonly string[];
}

export interface DeclaredReach {
  readonly loaded: Pick<LoadedManifest, 'keyVariable' | 'references' | 'secretVariables' | 'manifest'>;
  readonly grants: EffectiveGrants;
}

export function reachOf({ loaded, grants }: DeclaredReach): CapsuleReach {
  const { keyVariable, references, secretVariables = [], manifest } = loaded;
  const { endpoint, networkAllow, peerFetchAllow, envAllow, hostRead } = grants;
  const registries = manifest.artifacts.flatMap(({ runs = [], env }) => runs.flatMap((name) => registryOf(name, env)));
  const address = notifiedAddress(manifest);
  const notified = address === null ? undefined : destinationOf(address);
  const places = [
    ...(endpoint === null ? [] : [endpoint]),
    ...networkAllow,
    ...peerFetchAllow,
    ...registries,
    ...(notified === undefined ? [] : [notified]),
  ];
  const referred = references.map(({ variable }) => variable);
  const variables = [...(keyVariable === null ? [] : [keyVariable]), ...secretVariables, ...referred, ...envAllow];
  return {
    hosts: [...new Set(places.map(formatDestination))],
    variables: [...new Set(variables)],
    ...(hostRead.length === 0 ? {} : { reads: hostRead }),
  };
}
