/** Answers downloads of archives, whole or in part. */

import { Readable } from 'node:stream';

import { spell, type ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { emptyReply, type Reply, type ReplyHeaders } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import { encodeEntityTag, namesTag } from '@svc/protocol/entity-tag.ts';
import { artifactsPath, sha256Header } from '@svc/protocol/registry-messages.ts';
import { stateHeader } from '@svc/protocol/version-states.ts';
import type { ArtifactRecords, KeptRecord } from './artifact-records.ts';
import type { NamePatterns } from './name-patterns.ts';
import { parseArchivePath } from './paths.ts';
import type { ByteSpan, ObjectStore } from './object-store.ts';
import { parsePlatform, parseQuery } from './publish-query.ts';
import { badInput, blocked, notFound } from './refusals.ts';
import type { VersionStates } from './version-states.ts';

export const downloadPrefix = `${artifactsPath}/`;

interface Shelves {
  readonly store: ObjectStore;
  readonly records: ArtifactRecords;
  readonly states: VersionStates;
  /** The names that the asker may know of. */
  readonly read: NamePatterns;
}

/** `GET /v1/artifacts/{name}/{version}`: the variant for the platform, else the generic file (D3 "Registry" download). `410` for a blocked version. */
export async function download(head: RequestHead, { store, records, states, read }: Shelves): Promise<Reply> {
  const ref = parseArchivePath(head.path);
  const platform = askedPlatform(head.query);
  if (ref === null) throw notFound('no artifact has this path', platform);
  const record = read.allows(ref.name) ? await find(records, ref, platform) : null;
  if (record === null) throw notFound(spell(ref), platform);
  const { state, reason } = await states.of(ref);
  if (state === 'blocked') throw blocked(ref, reason);
  const { sha256, bytes, key } = record;
  const tag = encodeEntityTag(sha256);
  const told = state === 'active' ? {} : { [stateHeader]: state };
  const headers = { etag: tag, [sha256Header]: sha256, 'accept-ranges': 'bytes', ...told };
  const known = head.headers['if-none-match'];
  if (known !== undefined && namesTag(known, tag)) return emptyReply(304, headers);

  const range = parseRange(rangeOf(head, tag), bytes);
  if (range.kind === 'unsatisfiable') {
    const rest = { 'content-range': `bytes */${bytes}`, 'accept-ranges': 'bytes' };
    throw new HttpRefusal(416, 'range not satisfiable', `The archive has ${bytes} bytes.`, rest);
  }
  const opened = { store, key, headers };
  if (range.kind === 'whole') return await openedReply(opened, { status: 200, length: bytes });
  const { first, last } = range.span;
  const partly = { ...opened, headers: { ...headers, 'content-range': `bytes ${first}-${last}/${bytes}` } };
  return await openedReply(partly, { status: 206, length: last - first + 1, span: range.span });
}

interface Opened {
  readonly store: ObjectStore;
  readonly key: string;
  readonly headers: ReplyHeaders;
}

async function openedReply(
  { store, key, headers }: Opened,
  { status, length, span }: { readonly status: 200 | 206; readonly length: number; readonly span?: ByteSpan },
): Promise<Reply> {
  const opened = await store.openArchive(key, span);
  if (opened === null) {
    throw new HttpRefusal(500, 'archive_missing', `The archive of ${key} has been removed from the store.`);
  }
  const reply = { status, headers, contentType: 'application/octet-stream', length } as const;
  return opened instanceof Readable
    ? { kind: 'readable', ...reply, source: opened }
    : { kind: 'file', ...reply, ...opened };
}

function askedPlatform(query: string): string | null {
  const [platform, ...more] = parseQuery(query, ['platform']).get('platform') ?? [];
  if (more.length > 0) throw badInput('invalid platform', 'A download names platform once.');
  return platform === undefined ? null : parsePlatform(platform);
}

async function find(records: ArtifactRecords, ref: ArtifactRef, platform: string | null): Promise<KeptRecord | null> {
  const exact = (among: readonly KeptRecord[]): KeptRecord | undefined =>
    among.find(({ platforms }) => (platform === null ? platforms.length === 0 : platforms.includes(platform)));
  const known = exact(records.known(ref));
  if (known !== undefined) return known;
  // It may have been published through another server.
  const present = await records.read(ref);
  return exact(present) ?? present.find(({ platforms }) => platforms.length === 0) ?? null;
}

/** The `Range` that counts: GET alone has ranges, and none when the client has another file than this one (`If-Range`). */
function rangeOf({ method, headers }: RequestHead, tag: string): string | undefined {
  if (method !== 'GET') return undefined;
  const condition = headers['if-range'];
  return condition === undefined || condition === tag ? headers.range : undefined;
}

/** What a `Range` header asks of so many bytes. */
type RangeReading =
  /** No header, another unit, a malformed one, or several ranges: the answer is the whole (RFC 9110, 14.2). */
  { readonly kind: 'whole' } | { readonly kind: 'part'; readonly span: ByteSpan } | { readonly kind: 'unsatisfiable' };

const whole: RangeReading = { kind: 'whole' };
const unsatisfiable: RangeReading = { kind: 'unsatisfiable' };
const singleRange = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i;

/** Reads one range of a representation of `size` bytes. */
function parseRange(header: string | undefined, size: number): RangeReading {
  const found = header === undefined ? null : singleRange.exec(header.trim());
  if (found === null) return whole;
  const [, from, to, suffix] = found;
  if (suffix !== undefined) return part(Math.max(0, size - Number(suffix)), size - 1);
  const first = Number(from);
  if (to !== undefined && Number(to) < first) return whole;
  return part(first, Math.min(size - 1, Number(to ?? size - 1)));
}

function part(first: number, last: number): RangeReading {
  return first > last ? unsatisfiable : { kind: 'part', span: { first, last } };
}
