import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { spell } from './artifact-ref.ts';
import type { Publishable } from './publishable.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import { readVariant } from './store-layout.ts';
import { putArchive } from './store-put.ts';

/**
 * Publishes to a store of this machine (contracts §2 `--registry local`). As with a registry, what is published never changes: `E-REG-003`
 * when the store has other bytes for a variant. The same bytes again are no mistake, since nobody else can have published them.
 */
export async function publishLocally(archive: Publishable, root: string): Promise<void> {
  const { name, version, platforms, sha256, path } = archive;
  const variants = platforms.length === 0 ? [null] : platforms;
  for (const platform of variants) {
    const present = readVariant(root, { name, version }, platform);
    if (present === null || present.sha256 === sha256) continue;
    throw new Diagnostic('E-REG-003', `${spell(archive)} is published already in ${root}, with other bytes`, {
      hint: 'publish a new version; while you work on it, svc install -g <path> replaces what is there',
    });
  }
  for (const platform of variants) {
    await putArchive({ root, chunks: chunksOfFile(path), platform, from: path, expected: archive, sha256 });
  }
}
