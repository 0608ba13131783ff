/** Receives an archive, checks it and publishes it. */

import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod/mini';

import { spell, type ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { parseYaml } from '@svc/artifacts/manifest/yaml-source.ts';
import { archiveLimits } from '@svc/artifacts/store/archive-entry.ts';
import { readArchive, type Archive } from '@svc/artifacts/store/archive.ts';
import { manifestFile } from '@svc/artifacts/store/installed-artifact.ts';
import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { StreamedRequest } from '@svc/kit/http/route.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { encodeReceipt, maxIndexBytes, roles, type Role } from '@svc/protocol/registry-messages.ts';
import { type Access, forbidden } from './access.ts';
import type { ArtifactIndex } from './artifact-index.ts';
import type { ArtifactRecord, ArtifactRecords } from './artifact-records.ts';
import { parsePublishQuery, type PublishQuery } from './publish-query.ts';
import { alreadyThere, badInput, tooSlow } from './refusals.ts';
import type { StagingArea } from './staging.ts';

export interface Publishing {
  readonly records: ArtifactRecords;
  readonly index: ArtifactIndex;
  readonly access: Access;
  readonly staging: StagingArea;
  readonly maxBytes: number;
  readonly slowest: SlowestPace;
}

/**
 * `POST /v1/artifacts`: receives an archive, checks it and commits it, `201` once it is durable (D3 "Registry" publish). What can be
 * refused by the query alone is refused before the body is asked for.
 */
export async function publish(request: StreamedRequest, publishing: Publishing): Promise<Reply> {
  const { records, index, access, staging, maxBytes, slowest } = publishing;
  const query = parsePublishQuery(request.query);
  const caller = access.callerOf(request.headers);
  if (!caller.publish.allows(query.ref.name)) throw forbidden(caller, `publish ${query.ref.name}`);
  refuseTaken(query, await records.read(query.ref));
  const archive = await staging.receive(pacedBody(request.body, slowest));
  try {
    const { role, description, tags } = await inspectArchive(archive.file, query.ref, maxBytes);
    const { sha256, bytes } = archive;
    const record: ArtifactRecord = {
      ...query.ref,
      runtime: query.runtime,
      artifact_runtime: role ?? (query.runtime === 'static' ? 'skill' : 'tool'),
      platforms: [...query.platforms],
      sha256,
      bytes,
      description,
      tags: [...tags],
      published_at: new Date(systemClock.now()).toISOString(),
      published_by: caller.id,
    };
    await records.add(record, archive, (present) => {
      refuseBeside(record, present);
      refuseFull(record, index);
    });
    return jsonReply(encodeReceipt(query.ref.name, query.ref.version, sha256), 201);
  } finally {
    await staging.discard(archive);
  }
}

/** `409` when any variant that is published is there already (docs/protocol.md "The registry"). */
function refuseTaken(
  { ref, platforms }: Pick<PublishQuery, 'ref' | 'platforms'>,
  present: readonly ArtifactRecord[],
): void {
  const wanted = platforms.length === 0 ? [null] : platforms;
  for (const record of present) {
    const there: readonly (string | null)[] = record.platforms.length === 0 ? [null] : record.platforms;
    const taken = wanted.find((platform) => there.includes(platform));
    if (taken !== undefined) throw alreadyThere(ref, taken);
  }
}

/** `409` as above; `400` when the version is of another runtime or role on another platform. */
function refuseBeside(record: ArtifactRecord, present: readonly ArtifactRecord[]): void {
  refuseTaken({ ref: record, platforms: record.platforms }, present);
  const [first] = present;
  if (first === undefined) return;
  for (const key of ['runtime', 'artifact_runtime'] as const) {
    if (first[key] !== record[key]) {
      const message = `Its other variants are ${first[key]}, this one is ${record[key]}.`;
      throw badInput(`${key} differs from the other variants of ${spell(record)}`, message);
    }
  }
}

/** What the index may have of all versions of one name, so that who publishes one makes it unreadable for nobody. */
const maxBytesOfName = maxIndexBytes / 32;

/** `400` when the index would have more than that (docs/adr/registry.md "The index has a share for each name"). */
function refuseFull(record: ArtifactRecord, index: ArtifactIndex): void {
  if (index.bytesWith(record) <= maxBytesOfName) return;
  const message = `The index has ${maxBytesOfName} bytes for all versions of ${record.name}, and they are taken. Publish under another name.`;
  throw badInput('too many versions', message);
}

/** The slowest sender that is still listened to: at least so many bytes in every such span of time. */
export interface SlowestPace {
  readonly bytes: number;
  readonly ms: number;
}

/**
 * Passes a body on as long as it comes at that pace, throwing a `408` when it does not. Only time spent waiting for the sender counts, so
 * that a slow disk is not held against it. The time a whole body may take is not bounded.
 */
export async function* pacedBody(body: AsyncIterable<Buffer>, pace: SlowestPace): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]();
  let bytes = 0;
  let waitedMs = 0;
  let isAsked = false;
  try {
    for (;;) {
      const startedMs = systemClock.monotonicMs();
      isAsked = true;
      const next = await nextWithin(chunks, Math.max(0, pace.ms - waitedMs));
      isAsked = next === null;
      waitedMs += systemClock.monotonicMs() - startedMs;
      if (next !== null && next.done === true) return;
      bytes += next?.value.length ?? 0;
      if (bytes >= pace.bytes) {
        bytes = 0;
        waitedMs = 0;
      } else if (next === null || waitedMs >= pace.ms) {
        throw tooSlow(`Less than ${pace.bytes} bytes came within ${pace.ms / 1000} seconds.`);
      }
      if (next !== null) yield next.value;
    }
  } finally {
    // A reader that stops early leaves the rest to the server. A source that still waits for its sender cannot be closed before that has gone.
    if (!isAsked) await chunks.return?.();
  }
}

/** The next chunk; null when it has not come in time. It is not waited for then: only the end of the connection would end that. */
async function nextWithin(chunks: AsyncIterator<Buffer>, ms: number): Promise<IteratorResult<Buffer> | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  const next = chunks.next();
  // Nobody waits for a failure after the time.
  next.catch(() => {});
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the manifest in an archive says beside name and version. */
interface ManifestFacts {
  /** Null without a manifest, and in that of a capsule. */
  readonly role: Role | null;
  readonly description: string | null;
  readonly tags: readonly string[];
}

const label = 'the archive';
const maxDescription = 2_000;
const maxTags = 50;
const maxTag = 100;

/** What concerns the registry. The rest is the business of who installs it. */
const manifestShape = z.object({
  name: z.string(),
  version: z.string(),
  runtime: z.optional(z.enum(roles)),
  description: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
});

/**
 * Reads an archive whole, in pieces, and its manifest if it has one; the file stays open. `400` for what is no readable zip within the limits of
 * docs/adr/registry.md "An archive is the same bytes everywhere", or the archive of another artifact than `ref` (docs/protocol.md "The registry").
 */
async function inspectArchive(opened: FileHandle, ref: ArtifactRef, maxBytes: number): Promise<ManifestFacts> {
  try {
    const file = RegularFile.of(opened, label);
    const archive = await readArchive(file, { ...archiveLimits, maxArchiveBytes: maxBytes });
    await archive.verify();
    return archive.has(manifestFile) ? await readManifest(archive, ref) : { role: null, description: null, tags: [] };
  } catch (error) {
    throw refusalOf(error);
  }
}

async function readManifest(archive: Archive, ref: ArtifactRef): Promise<ManifestFacts> {
  const source = parseYaml(manifestFile, await archive.readText(manifestFile));
  if (source.problems.length > 0) throw new DiagnosticList(source.problems);
  const parsed = manifestShape.safeParse(source.value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw badInput(
      'invalid manifest',
      `${manifestFile}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`,
    );
  }
  const { name, version, runtime = null, description = null, tags = [] } = parsed.data;
  if (name !== ref.name || version !== ref.version) {
    const message = `Its ${manifestFile} says ${spell({ name, version })}, the query ${spell(ref)}.`;
    throw badInput('the archive is of another artifact', message);
  }
  return {
    role: runtime,
    description: description === null ? null : cut(spelt(description), maxDescription),
    tags: tags.slice(0, maxTags).map((tag) => cut(spelt(tag), maxTag)),
  };
}

/** The text with control characters but tabs and ends of lines spelt out, and halves of characters, which take six bytes each in JSON. */
function spelt(text: string): string {
  return text.replaceAll(/(?![\t\n\r])\p{Cc}|\p{Cs}/gu, printable);
}

/** An index is for finding an artifact; the whole text stays in the archive. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

function refusalOf(error: unknown): unknown {
  const [first] = error instanceof DiagnosticList ? error.diagnostics : [error];
  if (!(first instanceof Diagnostic) || first.code === 'E-IO-001') return error;
  if (first.code.startsWith('E-MAN-')) return badInput('invalid manifest', `${manifestFile}: ${first.message}.`);
  // A larger --max-bytes is what an operator would try first.
  const limit = first.code === 'E-ART-003' ? ' No svc would install it; --max-bytes does not change this limit.' : '';
  return badInput('invalid archive', `${first.message}.${limit}`);
}
