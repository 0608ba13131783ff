import * as z from 'zod/mini';

import type { ArtifactKind } from './inspect-content.ts';
import type { StoredArchive } from './store-layout.ts';

const metaVersion = 1;

const metaFile = z.object({
  meta_version: z.literal(metaVersion),
  kind: z.enum(['driver', 'tool', 'hook', 'skill', 'capsule']),
});

export interface StoredMeta {
  readonly archive: Omit<StoredArchive, 'path'>;
  readonly kind: ArtifactKind;
  readonly bytes: number;
  /** Where the archive came from, for people. */
  readonly from: string;
}

/** The record beside a stored archive, for those who list a store without opening it. */
export function encodeMeta({ archive, kind, bytes, from }: StoredMeta): string {
  const { name, version, platform, sha256 } = archive;
  const record = { meta_version: metaVersion, name, version, platform, kind, sha256, bytes, from };
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** The kind such a record names; null when it is not one. */
export function decodeKind(text: string): ArtifactKind | null {
  try {
    const parsed = metaFile.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.kind : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
