import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { StreamedRequest } from '@svc/kit/http/route.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import { encodeReceipt } from '@svc/protocol/registry-messages.ts';
import type { ArtifactRecord } from './artifact-record.ts';
import type { ArtifactRecords } from './artifact-records.ts';
import { inspectArchive } from './inspect-archive.ts';
import { pacedBody, type SlowestPace } from './paced-body.ts';
import { parsePublishQuery, type PublishQuery } from './publish-query.ts';
import { alreadyThere, badInput } from './refusals.ts';
import type { StagingArea } from './staging.ts';

export interface Publishing {
  readonly records: ArtifactRecords;
  readonly staging: StagingArea;
  readonly maxBytes: number;
  readonly slowest: SlowestPace;
}

/**
 * `POST /v1/artifacts`: receives an archive, checks it and commits it, `201` once it is durable (D3 "Registry" publish). What can be
 * refused by the query alone is refused before the body is asked for.
 */
export async function publish(request: StreamedRequest, publishing: Publishing): Promise<Reply> {
  const { records, staging, maxBytes, slowest } = publishing;
  const query = parsePublishQuery(request.query);
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
    };
    await records.add(record, archive, (present) => refuseBeside(record, present));
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
