/** Makes what a session needs to share files with other capsules and to fetch theirs. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isCovered } from '@svc/kit/net/network-destination.ts';
import { wholeMs } from '@svc/kit/units.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { audienceOf } from '@svc/protocol/audience.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { ExportRoot, type Hides, normalizedRoot } from '@svc/session/files/export-root.ts';
import { PeerHandles } from '@svc/session/files/peer-handles.ts';
import type { ResourcePlanesOptions } from '@svc/session/files/resource-routes.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** What of a launch decides about files of peers. */
interface PeerFilesLaunch {
  readonly loaded: { readonly manifest: Pick<CapsuleManifest, 'name' | 'exports'> };
  readonly scope: { readonly containment: Pick<PreparedLaunch['scope']['containment'], 'achieved'> };
  readonly grants: Pick<PreparedLaunch['grants'], 'networkAllow' | 'bindings' | 'peerFetchAllow'> & {
    readonly resources: Pick<PreparedLaunch['grants']['resources'], 'workdir_max_bytes'>;
  };
}

interface PeerFilesRequest {
  readonly launch: PeerFilesLaunch;
  readonly sessionId: SessionId;
  /** `host:port` of this capsule's card. */
  readonly url: string;
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  readonly hides?: Hides | undefined;
  /** The machine's own when absent. */
  readonly clock?: Pick<Clock, 'now' | 'randomBytes'>;
}

/** What a session shares with peers and fetches from them. */
export interface SessionPeerFiles {
  /** `share-file` and `fetch-peer-file`, each only when its grant is declared (D3 "Agent tools"). */
  readonly tools: readonly Tool[];
  /** What the listener serves; null when `exports.peer_files` is not declared. */
  readonly served: ResourcePlanesOptions['peerFiles'];
  /** Overwrites the minting key: no handle verifies any more (D3 "Authentication" 4). */
  readonly close: () => void;
}

/** No file is fetched that is larger, whatever the workdir may hold. */
const largestFetchBytes = 1024 ** 3;

/** The key of the session, when it shares files, and the tools of its model. Loads no more than the manifest asks for. */
export async function stagePeerFiles(request: PeerFilesRequest): Promise<SessionPeerFiles> {
  const { launch, sessionId: issuer, clock = systemClock } = request;
  const exported = launch.loaded.manifest.exports.peer_files;
  const fetching = await fetchTools(request);
  if (exported === undefined) return { tools: fetching, served: null, close: () => {} };
  const randomBytes = (size: number): Uint8Array => clock.randomBytes(size);
  const handles = new PeerHandles({ issuer, now: () => clock.now(), randomBytes });
  try {
    return {
      tools: [await shareTool(request, exported, handles), ...fetching],
      served: { root: exported.root, max_bytes: exported.max_bytes, handles },
      close: () => handles.close(),
    };
  } catch (error) {
    // Nobody else has the key yet.
    handles.close();
    throw error;
  }
}

async function shareTool(
  { launch, workdir, hides }: PeerFilesRequest,
  exported: NonNullable<CapsuleManifest['exports']['peer_files']>,
  handles: PeerHandles,
): Promise<Tool> {
  if (exported.max_ttl === undefined) throw new Error('the manifest was not settled: exports.peer_files.max_ttl');
  const { createShareFileTool } = await import('@svc/session/files/share-file-tool.ts');
  const { achieved } = launch.scope.containment;
  return createShareFileTool({
    root: new ExportRoot({ workdir, root: normalizedRoot(exported.root), achieved, hides }),
    handles,
    maxTtlMs: wholeMs(exported.max_ttl),
    networkAllow: namedAlone(launch.grants),
  });
}

/** What is held of requests to a host is not held of these. */
function namedAlone({
  networkAllow,
  bindings,
}: PeerFilesRequest['launch']['grants']): PreparedLaunch['grants']['networkAllow'] {
  const bound = bindings.map(({ destination }) => destination);
  return networkAllow.filter((destination) => !isCovered(bound, destination));
}

async function fetchTools({ launch, workdir, url }: PeerFilesRequest): Promise<readonly Tool[]> {
  const { peerFetchAllow: allow, resources } = launch.grants;
  if (allow.length === 0) return [];
  const { name } = launch.loaded.manifest;
  const audience = audienceOf({ name, url });
  if (audience === undefined) throw new Error(`this capsule cannot say who it is: ${name} at ${url}`);
  const { createFetchPeerFileTool } = await import('@svc/session/files/fetch-peer-file-tool.ts');
  const maxBytes = Math.min(largestFetchBytes, resources.workdir_max_bytes);
  return [createFetchPeerFileTool({ workdir, audience, allow, maxBytes })];
}
