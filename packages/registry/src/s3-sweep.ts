import type { S3Client } from './s3-client.ts';
import type { S3Layout } from './s3-layout.ts';
import { listObjects } from './s3-listing.ts';

/** Nobody takes so long from bringing an archive to committing it. */
const leftoverAgeMs = 24 * 60 * 60_000;

/**
 * Removes the archives that a killed or cut-off writer left: those of a day ago that the record of their key does not name. `archiveOf`
 * reads which one it names, null when there is no record. All ages are by the clock of the service.
 */
export async function sweepLeftovers(
  client: S3Client,
  layout: S3Layout,
  archiveOf: (key: string) => Promise<string | null>,
): Promise<void> {
  const recorded = new Set<string>();
  const old = new Map<string, string[]>();
  // Archives first: what is committed after this listing has an archive that is younger than a day.
  for await (const { objects, answeredMs } of listObjects(client, layout.archives)) {
    for (const { name, changedMs } of objects) {
      const parsed = layout.parseArchive(name);
      if (parsed === null || answeredMs === null || answeredMs - changedMs < leftoverAgeMs) continue;
      old.set(parsed.key, [...(old.get(parsed.key) ?? []), parsed.id]);
    }
  }
  for await (const { objects } of listObjects(client, layout.records)) {
    for (const { name } of objects) recorded.add(layout.keyOfRecord(name) ?? '');
  }
  for (const [key, ids] of old) {
    // The usual case, which costs nothing: the one archive of a key with a record is the one it names.
    if (recorded.has(key) && ids.length === 1) continue;
    const kept = await archiveOf(key);
    for (const id of ids) if (id !== kept) await remove(client, layout.archive(key, id));
  }
}

async function remove(client: S3Client, name: string): Promise<void> {
  await client.ask({ attempt: `remove ${name}`, method: 'DELETE', name, expected: [200, 204, 404] });
}
