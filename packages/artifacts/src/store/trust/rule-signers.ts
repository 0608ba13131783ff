/** Compares the signer of an archive with the signers that a rule of the trust policy accepts. */

import { matchesPattern } from '../../manifest/name-pattern.ts';
import type { TrustPolicy, TrustRule, WantedSigner } from '../../manifest/trust-policy.ts';
import type { Signer } from './signer.ts';

/** Returns whether the rule accepts a signer. A rule that names no signer accepts every identity, and every key of the policy. */
export function accepts(rule: TrustRule, policy: TrustPolicy, signer: Signer): boolean {
  if (rule.signedBy !== null) return rule.signedBy.some((wanted) => isWanted(wanted, signer));
  return signer.kind === 'identity' || policy.keys.some(({ fingerprint }) => fingerprint === signer.fingerprint);
}

function isWanted(wanted: WantedSigner, signer: Signer): boolean {
  if (wanted.kind === 'key') return signer.kind === 'key' && signer.fingerprint === wanted.key.fingerprint;
  if (signer.kind !== 'identity' || signer.issuer !== wanted.issuer) return false;
  return matchesPattern(wanted.identity, signer.identity);
}

/**
 * Returns whether two versions have the same signer. The identity of a workflow ends in the tag or branch that it ran for: all tags count as the same,
 * and branches do not.
 */
export function isSameSigner(one: Signer, other: Signer): boolean {
  if (one.kind === 'key') return other.kind === 'key' && one.fingerprint === other.fingerprint;
  if (other.kind === 'key' || one.issuer !== other.issuer) return false;
  return withoutTag(one.identity) === withoutTag(other.identity);
}

function withoutTag(identity: string): string {
  return identity.replace(/@refs\/tags\/[^@]*$/, '@refs/tags/');
}

/** Names a signer for a person. A key has the name that the policy gives it. */
export function renderSigner(signer: Signer, policy: TrustPolicy | null = null): string {
  if (signer.kind === 'identity') return `${signer.identity} (${signer.issuer})`;
  const name = policy?.keys.find(({ fingerprint }) => fingerprint === signer.fingerprint)?.name;
  return name === undefined ? `the key sha256:${signer.fingerprint}` : `the key ${name}`;
}

/** Says for a person which signers a rule accepts. */
export function renderWanted(rule: TrustRule): string {
  if (rule.signedBy === null) return 'anybody who is known';
  return rule.signedBy
    .map((wanted) => (wanted.kind === 'key' ? `the key ${wanted.key.name}` : `${wanted.identity} (${wanted.issuer})`))
    .join(' or ');
}
