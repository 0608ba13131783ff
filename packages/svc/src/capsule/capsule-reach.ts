/** Says what a capsule gets of this machine's network and environment. */

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';
import { formatDestination } from '@svc/kit/net/network-destination.ts';

export interface CapsuleReach {
  /** That of its model first. */
  readonly hosts: readonly string[];
  /** The names of those that commands are given, and of those that the manifest refers to. */
  readonly variables: readonly string[];
}

export function reachOf(
  { keyVariable, references }: Pick<LoadedManifest, 'keyVariable' | 'references'>,
  { endpoint, networkAllow, peerFetchAllow, envAllow }: EffectiveGrants,
): CapsuleReach {
  const places = [...(endpoint === null ? [] : [endpoint]), ...networkAllow, ...peerFetchAllow];
  const referred = references.map(({ variable }) => variable);
  const variables = [...(keyVariable === null ? [] : [keyVariable]), ...referred, ...envAllow];
  return { hosts: [...new Set(places.map(formatDestination))], variables: [...new Set(variables)] };
}
