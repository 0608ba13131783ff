import * as z from 'zod/mini';

import { artifactName, exactVersion } from '@svc/artifacts/manifest/names.ts';
import { platformShape } from '@svc/artifacts/store/artifact-ref.ts';
import { packagings, roles } from '@svc/protocol/registry-messages.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';

const recordVersion = 1;

const shape = z.object({
  record_version: z.literal(recordVersion),
  name: artifactName,
  version: exactVersion,
  runtime: z.enum(packagings),
  artifact_runtime: z.enum(roles),
  /** What the archive is for; none makes it the generic file of its version. */
  platforms: z.array(z.string().check(z.regex(platformShape))),
  sha256: z.string().check(z.regex(sha256Shape)),
  bytes: z.int().check(z.minimum(0)),
  description: z.nullable(z.string()),
  tags: z.array(z.string()),
});

/** What one publish brought, as it is kept beside the archive. */
export type ArtifactRecord = Omit<z.infer<typeof shape>, 'record_version'>;

export function encodeRecord(record: ArtifactRecord): string {
  return `${JSON.stringify({ record_version: recordVersion, ...record }, null, 2)}\n`;
}

/** Null for a text that is no record, or one of a later version. */
export function decodeRecord(text: string): ArtifactRecord | null {
  try {
    const parsed = shape.safeParse(JSON.parse(text));
    if (!parsed.success) return null;
    const { record_version: _, ...record } = parsed.data;
    return record;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
