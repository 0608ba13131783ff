/** Keeps signatures beside archives. */

import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { encodeSignatures, signaturesBeside, signaturesSuffix } from './signature-bundle.ts';

/**
 * Puts bundles into the file of signatures beside an archive, before those that it has; at most 16 stay. After a crash it holds the old ones or the new
 * ones too. `E-IO-001` when it cannot be written.
 */
export async function addSignatures(archive: string, bundles: readonly string[]): Promise<void> {
  if (bundles.length === 0) return;
  await withGuard(archive, async () => {
    const before = signaturesBeside(archive);
    const text = encodeSignatures([...bundles, ...before]);
    if (text !== encodeSignatures(before)) await replaceFile(`${archive}${signaturesSuffix}`, [Buffer.from(text)]);
  });
}
