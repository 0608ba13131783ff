/** Keeps signatures beside archives. */

import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { encodeSignatures, isOfOtherBytes, signaturesBeside, signaturesSuffix } from './signature-bundle.ts';

/**
 * Puts bundles into the file of signatures beside an archive, before those that it has; at most 16 stay. After a crash it holds the old ones or the new
 * ones too. `E-IO-001` when it cannot be written.
 */
export async function addSignatures(archive: string, bundles: readonly string[]): Promise<void> {
  if (bundles.length > 0) await rewrite(archive, (before) => [...bundles, ...before]);
}

/** Puts a bundle for an archive with this hash before those that are there, and drops those that say that they sign another; returns how many. */
export async function signAnew(archive: string, bundle: string, sha256: string): Promise<number> {
  let dropped = 0;
  await rewrite(archive, (before) => {
    const kept = before.filter((each) => !isOfOtherBytes(each, sha256));
    dropped = before.length - kept.length;
    return [bundle, ...kept];
  });
  return dropped;
}

async function rewrite(archive: string, change: (before: readonly string[]) => readonly string[]): Promise<void> {
  await withGuard(archive, async () => {
    const before = signaturesBeside(archive);
    const text = encodeSignatures(change(before));
    if (text !== encodeSignatures(before)) await replaceFile(`${archive}${signaturesSuffix}`, [Buffer.from(text)]);
  });
}
