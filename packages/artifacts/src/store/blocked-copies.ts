/** Keeps copies in the stores of this machine from being used once their version is known to be blocked. */

import { rm } from 'node:fs/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { hashFileOf, type StoredArchive, variantPaths } from './store-layout.ts';
import { blockedFault } from './version-state-rules.ts';

/** An archive without a hash is not there; what stands in its place says why. */
const mark = 'blocked';

/** Has a copy count as absent, and as blocked where it would be fetched anew. */
export async function markBlocked({ path }: StoredArchive, reason: string | null): Promise<void> {
  await withGuard(path, async () => {
    await replaceFile(hashFileOf(path), [Buffer.from(`${mark} ${JSON.stringify(reason)}\n`)]);
  });
}

/** Takes such marks away, so that the version is fetched anew. */
export async function unmarkBlocked(
  root: string,
  ref: ArtifactRef,
  platforms: readonly (string | null)[],
): Promise<void> {
  for (const platform of platforms) {
    if (blockedReason(root, ref, platform) === undefined) continue;
    const { hash } = variantPaths(root, ref, platform);
    try {
      await rm(hash, { force: true });
    } catch (error) {
      throw ioFault(error, `cannot remove ${hash}`);
    }
  }
}

/** Whether a store has a copy that is known to be blocked. */
export function isBlocked(root: string, ref: ArtifactRef, platforms: readonly (string | null)[]): boolean {
  return platforms.some((platform) => blockedReason(root, ref, platform) !== undefined);
}

/** Throws `E-REG-010` where a store has a copy that is known to be blocked. */
export function refuseBlocked(root: string, ref: ArtifactRef, platforms: readonly (string | null)[]): void {
  for (const platform of platforms) {
    const reason = blockedReason(root, ref, platform);
    if (reason === undefined) continue;
    const { message } = blockedFault(ref, { by: 'the registry that an install asked', reason });
    throw new Diagnostic('E-REG-010', message, {
      hint: `choose another version: svc info ${ref.name} lists them; if it was restored, run svc install`,
    });
  }
}

/** Undefined where there is no mark. */
function blockedReason(root: string, ref: ArtifactRef, platform: string | null): string | null | undefined {
  const reading = readSmallText(variantPaths(root, ref, platform).hash);
  const [, reason] = reading.kind === 'text' ? (/^blocked (null|".*")\n$/.exec(reading.text) ?? []) : [];
  return reason === undefined ? undefined : (JSON.parse(reason) as string | null);
}
