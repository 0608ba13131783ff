/** Says of each signature of an archive whose it is, for a person who asks: nothing is let in or refused by it. */

import { loadTrustPolicy } from '../../manifest/trust-policy.ts';
import { readTrustRoot } from './trust-root.ts';
import type { SignedArchive, Verdict } from './verify-bundles.ts';

/**
 * The verdict on each bundle, by the keys and authorities of this user; offline. `E-REG-013` for a policy that cannot be read. Nothing is read, and no verifier
 * loaded, for an archive without bundles.
 */
export async function inspectSignatures(
  archive: SignedArchive,
  places: { readonly userHome: string; readonly packageRoot: string },
): Promise<readonly Verdict[]> {
  if (archive.bundles.length === 0) return [];
  const policy = loadTrustPolicy(places.userHome);
  const root = readTrustRoot(policy ?? { root: null }, places);
  const { BundleVerifier } = await import('./verify-bundles.ts');
  return await new BundleVerifier(root, policy?.keys ?? []).verify(archive, () => false);
}
