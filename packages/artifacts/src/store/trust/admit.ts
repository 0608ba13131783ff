/** Checks archives against the trust policy of the user, before they are stored or used. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { loadTrustPolicy, ruleFor, type TrustPolicy, type TrustRule } from '../../manifest/trust-policy.ts';
import { type ArtifactRef, spell } from '../artifact-ref.ts';
import type { LockedArtifact } from '../lockfile.ts';
import { keepPass, readPass } from './passes.ts';
import { accepts, isSameSigner, renderSigner, renderWanted } from './rule-signers.ts';
import type { Signer } from './signer.ts';
import { readTrustRoot } from './trust-root.ts';
import type { Verdict } from './verify-bundles.ts';

/** What the policy says to an archive that it lets pass. */
export type Admission =
  /** No rule is for it. */
  | { readonly kind: 'unchecked' }
  | { readonly kind: 'signed'; readonly signer: Signer }
  /** The rule only warns: the warning, for the one who started the command. */
  | { readonly kind: 'warned'; readonly warning: Diagnostic };

/** An archive that asks to be let in. */
export interface Candidate {
  readonly ref: ArtifactRef;
  readonly sha256: string;
  readonly chunks: () => Chunks;
  /** Bundles that may sign it; asked for at most once, and only where a rule is for it and no earlier pass suffices. */
  readonly signatures: () => readonly string[] | Promise<readonly string[]>;
  /** What to do where it has none; absent for what came from a source that may be asked again. */
  readonly unsignedHint?: string;
}

export interface TrustPlaces {
  readonly userHome: string;
  readonly packageRoot: string;
  /** What the project recorded of signers; null where no project has a part in this. */
  readonly lock: () => readonly LockedArtifact[] | null;
  /** Lets another signer take the place of the recorded one. */
  readonly acceptSigner?: boolean;
}

/**
 * Lets an archive pass or throws what the first rule for its name refuses it with: `E-REG-011` without a signature, `E-REG-012` for one that does not hold,
 * `E-REG-009` for one of somebody else than the rule wants or `svc.lock` records, `E-REG-013` for a policy that cannot be read. Nothing is asked
 * of the network but what `signatures` asks.
 */
export async function admit(candidate: Candidate, places: TrustPlaces): Promise<Admission> {
  const policy = loadTrustPolicy(places.userHome);
  const rule = policy === null ? null : ruleFor(policy, candidate.ref.name);
  if (policy === null || rule === null) return { kind: 'unchecked' };
  const found = await findSigner(candidate, { policy, rule, places });
  if (!(found instanceof Diagnostic)) return { kind: 'signed', signer: found };
  if (!rule.isWarning) throw found;
  return { kind: 'warned', warning: fault('W-REG-006', found.message, { rule, hint: found.hint ?? '' }) };
}

interface AppliedRule {
  readonly policy: TrustPolicy;
  readonly rule: TrustRule;
  readonly places: TrustPlaces;
}

/** The signer that is accepted, or why none is. */
async function findSigner(candidate: Candidate, applied: AppliedRule): Promise<Signer | Diagnostic> {
  const { policy, rule, places } = applied;
  const root = readTrustRoot(policy, places);
  const pass = { userHome: places.userHome, sha256: candidate.sha256, root: root.sha256 };
  const recorded = places.acceptSigner === true ? null : recordedSigner(places.lock() ?? [], candidate.ref);
  const isEnough = (signer: Signer): boolean =>
    accepts(rule, policy, signer) && (recorded === null || isSameSigner(signer, recorded));
  const passed = readPass(pass);
  if (passed !== null && isEnough(passed)) return passed;
  const bundles = await candidate.signatures();
  if (bundles.length === 0) return unsigned(candidate, rule);
  const { BundleVerifier } = await import('./verify-bundles.ts');
  const verifier = new BundleVerifier(root, policy.keys);
  const verdicts = await verifier.verify({ ...candidate, bundles }, isEnough);
  const signers = verdicts.flatMap((verdict) => (verdict.kind === 'valid' ? [verdict.signer] : []));
  const accepted = signers.find(isEnough);
  if (accepted !== undefined) {
    keepPass(pass, accepted);
    return accepted;
  }
  const [first] = signers;
  if (first === undefined) return invalid(candidate, verdicts, rule);
  const other = signers.find((signer) => accepts(rule, policy, signer));
  return other === undefined || recorded === null
    ? byAnother(candidate, first, applied)
    : changedSigner(candidate, { now: other, recorded }, applied);
}

/** Who signed the artifact that the project uses: this version, else the one that it had before. */
function recordedSigner(lock: readonly LockedArtifact[], { name, version }: ArtifactRef): Signer | null {
  const known = lock.filter((locked) => locked.name === name && locked.signedBy !== undefined);
  return (known.find((locked) => locked.version === version) ?? known[0])?.signedBy ?? null;
}

const publisherHint = 'svc install asks its source for signatures that came later; else ask its publisher to sign it';

function unsigned({ ref, unsignedHint = publisherHint }: Candidate, rule: TrustRule): Diagnostic {
  const message = `${spell(ref)} has no signature, and ${named(rule)} wants one of ${renderWanted(rule)}`;
  return fault('E-REG-011', message, { rule, hint: unsignedHint });
}

const maxReasons = 3;

function invalid({ ref }: Candidate, verdicts: readonly Verdict[], rule: TrustRule): Diagnostic {
  const refused = verdicts.flatMap((verdict) => (verdict.kind === 'refused' ? [verdict] : []));
  const reasons = [...new Set(refused.map(({ reason }) => reason))].slice(0, maxReasons).join('; ');
  const hint = refused.some(({ isUnknownLog }) => isUnknownLog)
    ? 'its log is not known here: svc trust update fetches the list of today'
    : refused.every(({ isUnknownKey }) => isUnknownKey)
      ? unknownKeyHint(rule)
      : 'do not use it before you know why: it may have been tampered with on its way';
  return fault('E-REG-012', `the signature of ${spell(ref)} does not hold: ${reasons}`, { rule, hint });
}

/** A key that came the way of the archive proves nothing: its signer may be the publisher or anybody. */
function unknownKeyHint({ signedBy }: TrustRule): string {
  const add = signedBy === null ? 'add it to trust.keys' : 'add it to trust.keys and to signed_by of the rule';
  return `its publisher may have a key that is not known here: get the public key from them, another way than the archive came, and ${add} in ~/.svc/config.yaml; else do not use it`;
}

function byAnother({ ref }: Candidate, signer: Signer, { rule, policy }: AppliedRule): Diagnostic {
  const message = `${spell(ref)} is signed by ${renderSigner(signer, policy)}, and ${named(rule)} wants ${renderWanted(rule)}`;
  return fault('E-REG-009', message, {
    rule,
    hint: 'find out who that is; a rule is changed in ~/.svc/config.yaml alone',
  });
}

interface SignerChange {
  readonly now: Signer;
  readonly recorded: Signer;
}

function changedSigner({ ref }: Candidate, { now, recorded }: SignerChange, { rule, policy }: AppliedRule): Diagnostic {
  const message = `${spell(ref)} is signed by ${renderSigner(now, policy)}, but svc.lock records ${renderSigner(recorded, policy)}`;
  const hint =
    'find out why its signer has changed; --accept-signer of svc install, add and update records the new one';
  return fault('E-REG-009', message, { rule, hint });
}

function named(rule: TrustRule): string {
  return `the rule for ${rule.names.join(', ')} in line ${rule.location.line} of ${rule.location.file}`;
}

function fault(code: DiagnosticCode, message: string, { rule, hint }: { rule: TrustRule; hint: string }): Diagnostic {
  return new Diagnostic(code, message, { hint, location: rule.location });
}
