/** The tool `share-file`, by which a model lets another capsule fetch a file. */

import { lifetimeSecs, maxLifetimeSecs } from '@svc/artifacts/manifest/units.ts';
import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { wholeMs } from '@svc/kit/units.ts';
import { release } from '@svc/kit/files/read-up-to.ts';
import type { ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';
import {
  type Tool,
  type ToolCallContext,
  type ToolDeclaration,
  type ToolOutcome,
  neverReached,
} from '../tools/tool.ts';
import type { ExportRoot } from './export-root.ts';
import { parsePeerAddress, type PeerTimes, fetchAudience } from './peer-client.ts';
import type { PeerHandles } from './peer-handles.ts';
import { resourceRefusal } from './refused-requests.ts';

export interface ShareFileSettings {
  /** The directory of `exports.peer_files`. */
  readonly root: ExportRoot;
  readonly handles: PeerHandles;
  readonly maxTtlMs: number;
  /** `capabilities.network.allow`, which the peer's card is fetched under. */
  readonly networkAllow: readonly NetworkDestination[];
  /** How long the card may take; when absent, 10 s of silence and 20 s in all. */
  readonly times?: PeerTimes;
  /** The host's own when absent. */
  readonly resolver?: HostResolver;
}

/** Declares `share-file` to the model. */
export function shareFileDeclaration(): ToolDeclaration {
  return { name: 'share-file', description, kind: 'runtime', inputSchema };
}

/** `share-file`: mints a handle for one file and one peer (D3 "Agent tools", "Audience computation"). */
export function createShareFileTool(settings: ShareFileSettings): Tool {
  return {
    ...shareFileDeclaration(),
    call: async (args, context) => await share(args, context, settings),
  };
}

async function share(
  args: Readonly<Record<string, unknown>>,
  { signal, record }: ToolCallContext,
  { root, handles, maxTtlMs, networkAllow: allow, times, resolver }: ShareFileSettings,
): Promise<ToolOutcome> {
  const shared = sharedPath(root, String(args['path']));
  if (shared.kind === 'refused') return failed(shared.code, resourceRefusal(shared.code).message);
  const ttlMs = ttlMsOf(args['ttl'], maxTtlMs);
  if (ttlMs === undefined) {
    return failed('invalid_ttl', 'ttl must be whole seconds or a number with s, m or h, longer than nothing.');
  }
  const peer = parsePeerAddress(String(args['peer']));
  if (peer.kind === 'malformed') return failed('invalid_peer', `peer ${peer.reason}: name it as host:port.`);
  const found = await fetchAudience({ url: peer.url, allow, signal, times, resolver });
  if (found.kind === 'unreachable') return failed('peer_unreachable', `The peer cannot be reached: ${found.reason}.`);
  signal.throwIfAborted();
  const { path } = shared;
  const { audience } = found;
  const { handle, handleId, expiresAtMs } = handles.mint({ path, audience, ttlMs });
  const minted = { handle_id: handleId, outcome: 'ok', path, audience, expires_at_ms: expiresAtMs };
  if (!record({ event_type: 'peer_handle_mint', ...minted })) {
    return failed('io_error', 'The trace cannot be written, so nothing is shared.');
  }
  const result = { handle, handle_id: handleId, expires_at_ms: expiresAtMs, audience };
  return { status: 'passed', content: JSON.stringify(result), exitCode: null, truncated: false };
}

/** Whole, at least 1 and at most `maxTtlMs`, which is also the default; undefined for what is no duration (D3 "Limits"). */
function ttlMsOf(ttl: unknown, maxTtlMs: number): number | undefined {
  if (ttl === undefined) return maxTtlMs;
  // A number that is too large to count in is too long, not wrong.
  const secs = lifetimeSecs.safeParse(typeof ttl === 'number' ? Math.min(ttl, maxLifetimeSecs) : ttl);
  return secs.success ? Math.min(Math.max(1, wholeMs(secs.data)), maxTtlMs) : undefined;
}

function failed(code: string, message: string): ToolOutcome {
  return neverReached(`${code}: ${message}`);
}

const description = [
  'Shares one file with one other agent. Answers a handle: send it to that agent, which fetches the file with its tool fetch-peer-file.',
  'The handle works for that agent alone, until it expires, and for the file as it is when it is fetched.',
].join(' ');

const inputSchema = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The file, relative to the directory that is shared with peers.' },
    peer: { type: 'string', description: 'Where the other agent listens: host:port, or an http(s) URL.' },
    ttl: {
      type: ['string', 'integer'],
      description:
        'How long the handle works: seconds, or a text such as "90s", "10m" or "1h". Default: the longest allowed.',
    },
  },
  required: ['path', 'peer'],
  additionalProperties: false,
} as const;

type SharedPath =
  /** Canonical and relative to the root. */
  { readonly kind: 'path'; readonly path: string } | { readonly kind: 'refused'; readonly code: ResourceRefusalCode };

/**
 * The path of a regular file that may be shared. One that would leave the root is refused, whether plainly, percent-encoded or by a link,
 * and never normalised into something else (D3 "Errors", docs/peer-files.md "Sharing"). Otherwise it is taken as it stands: a `%` is a `%`.
 */
function sharedPath(root: ExportRoot, path: string): SharedPath {
  const plain = normalizeWorkdirPath(path);
  if (plain === undefined || normalizeWorkdirPath(decoded(path)) === undefined) return refused('outside_root');
  if (plain === '.') return refused('not_a_regular_file');
  const opening = root.open(plain);
  if (opening.kind === 'refused') return opening;
  release(opening.file.descriptor);
  return { kind: 'path', path: opening.path };
}

/** With the escapes of ASCII characters decoded, which are all that a way out is made of. */
function decoded(path: string): string {
  return path.replaceAll(/%([0-7][0-9A-Fa-f])/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function refused(code: ResourceRefusalCode): SharedPath {
  return { kind: 'refused', code };
}
