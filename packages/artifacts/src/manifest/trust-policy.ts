/** Reads the trust policy of a user, the `trust` block of `~/.svc/config.yaml`: it says whose signatures artifacts must carry. */

import { createPublicKey } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod/mini';

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic, type SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { readSmallText, readTextIfThere } from '@svc/kit/files/read-text.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { type CheckedDocument, type Findings, readDocument } from './checked-document.ts';
import { Draft } from './key-path.ts';
import { matchesPattern } from './name-pattern.ts';

/** A public key that the policy names. */
export interface TrustedKey {
  /** What the policy calls it. */
  readonly name: string;
  /** The SHA-256 of `spki`, in lowercase hex. */
  readonly fingerprint: string;
  /** DER, an ECDSA key on P-256. */
  readonly spki: Buffer;
}

/** Whose signature is accepted. */
export type WantedSigner =
  /** `issuer` is compared as text, `identity` is a pattern (`matchesPattern`). */
  | { readonly kind: 'identity'; readonly issuer: string; readonly identity: string }
  | { readonly kind: 'key'; readonly key: TrustedKey };

export interface TrustRule {
  /** Patterns of artifact names. */
  readonly names: readonly string[];
  /** Null accepts any signer. */
  readonly signedBy: readonly WantedSigner[] | null;
  /** Whether what does not meet the rule is used all the same, with a warning. */
  readonly isWarning: boolean;
  /** Where it stands. */
  readonly location: SourceLocation;
}

export interface TrustPolicy {
  readonly rules: readonly TrustRule[];
  readonly keys: readonly TrustedKey[];
  /** The file with the authorities and logs that are trusted; null for the one that comes with `svc`. */
  readonly root: string | null;
  /** The addresses that sign and log; null for those of the public instance. */
  readonly authority: string | null;
  readonly log: string | null;
}

/** Where the policy of a user stands. */
function trustPolicyFile(home: string): string {
  return join(home, '.svc', 'config.yaml');
}

/**
 * The policy in `~/.svc/config.yaml`; null when that file has none. Throws `E-REG-013` for whatever in it cannot be read or understood, unknown keys
 * included, so that a mistake never turns a policy off.
 */
export function loadTrustPolicy(home: string): TrustPolicy | null {
  const file = trustPolicyFile(home);
  const text = readTextIfThere(file);
  // Most configurations have no policy, and nothing is parsed for them. A key that is spelt with escapes has a backslash.
  if (text === null || !/trust|\\/.test(text)) return null;
  const document = parsed(file, text);
  const { trust } = document.value;
  return trust === undefined ? null : policyOf(trust, document);
}

type PolicyDocument = CheckedDocument<typeof fileSchema>;

/** The document that was read last: an install asks for the policy once for each archive. */
let last: { readonly file: string; readonly text: string; readonly document: PolicyDocument } | null = null;

function parsed(file: string, text: string): PolicyDocument {
  if (last?.file !== file || last.text !== text) {
    const leave = (): boolean => true;
    const document = readDocument({ file, text, schema: fileSchema, leave, rules: checkRules, refusal: 'E-REG-013' });
    last = { file, text, document };
  }
  return last.document;
}

/** The first rule whose patterns match a name; null when none does: the policy asks nothing of that artifact. */
export function ruleFor(policy: TrustPolicy, name: string): TrustRule | null {
  return policy.rules.find((rule) => rule.names.some((pattern) => matchesPattern(pattern, name))) ?? null;
}

const modes = ['required', 'warn', 'refuse-unsigned'] as const;
const text = z.string().check(z.minLength(1), z.maxLength(1_000));
const address = z.string().check(
  z.refine((value) => endpointFault(value) === undefined, {
    error: ({ input }) => endpointFault(String(input)),
  }),
);
const signer = z.strictObject({ issuer: z.optional(text), identity: z.optional(text), key: z.optional(text) });
const rule = z.strictObject({
  names: z
    .array(z.string().check(z.regex(/^[a-z0-9*-]{1,100}$/, 'must be lowercase letters, digits, hyphens and *')))
    .check(z.minLength(1)),
  signed_by: z.optional(z.extend(signer, { any: z.optional(z.array(signer).check(z.minLength(1))) })),
  mode: z.optional(z.enum(modes)),
});
const fileSchema = z.looseObject({
  trust: z.optional(
    z.strictObject({
      keys: z._default(z.record(z.string().check(z.regex(/^[A-Za-z0-9][\w.-]{0,99}$/)), text), {}),
      rules: z._default(z.array(rule), []),
      root: z.optional(text),
      authority: z.optional(address),
      log: z.optional(address),
    }),
  ),
});

type Written = NonNullable<z.infer<typeof fileSchema>['trust']>;
type WrittenRule = Written['rules'][number];
type WrittenSigner = z.infer<typeof signer>;

/** Checks which keys go together, which no schema says. The schema has not been applied yet: the data may have any shape. */
function checkRules(data: unknown, findings: Findings): void {
  const draft = new Draft(data);
  draft.list('trust', 'rules').forEach((_, index) => {
    const path = ['trust', 'rules', index];
    const hasSigner = draft.has(...path, 'signed_by');
    const takesAnybody = draft.at(...path, 'mode') === 'refuse-unsigned';
    if (takesAnybody === hasSigner) {
      const clause = takesAnybody
        ? 'has signed_by, and mode: refuse-unsigned accepts any signer'
        : 'has no signed_by; mode: refuse-unsigned is for a rule that accepts any signer';
      findings.add('E-REG-013', `trust.rules[${index}] ${clause}`, { path });
    }
    if (!hasSigner) return;
    const wanted = [...path, 'signed_by'];
    if (!draft.has(...wanted, 'any')) checkSigner(draft, wanted, findings);
    else if (['issuer', 'identity', 'key'].some((key) => draft.has(...wanted, key))) {
      findings.add(
        'E-REG-013',
        `trust.rules[${index}].signed_by has any beside issuer, identity or key: give one or the other`,
        { path: wanted },
      );
    } else draft.list(...wanted, 'any').forEach((__, at) => checkSigner(draft, [...wanted, 'any', at], findings));
  });
}

function checkSigner(draft: Draft, path: readonly (string | number)[], findings: Findings): void {
  const has = (key: string): boolean => draft.has(...path, key);
  const where = `trust.rules[${path[2]}].signed_by`;
  if (has('key') === (has('issuer') || has('identity')) || has('issuer') !== has('identity')) {
    findings.add('E-REG-013', `${where} must have issuer and identity, or key`, { path });
    return;
  }
  const key = draft.at(...path, 'key');
  const known = Object.keys(draft.at('trust', 'keys') ?? {});
  if (typeof key !== 'string' || known.includes(key)) return;
  const hint = didYouMean(key, known);
  findings.add('E-REG-013', `${where}.key names ${quoted(key)}, which trust.keys does not list`, {
    path: [...path, 'key'],
    ...(hint === undefined ? {} : { hint }),
  });
}

function policyOf(written: Written, { source }: PolicyDocument): TrustPolicy {
  const file = source.locate(['trust'], 'key').file;
  const place = dirname(file);
  const keys = Object.entries(written.keys).map(([name, path]) => {
    return readKey(name, resolve(place, path), source.locate(['trust', 'keys', name], 'value'));
  });
  return {
    rules: written.rules.map((each, index) => ruleOf(each, keys, source.locate(['trust', 'rules', index], 'value'))),
    keys,
    root: written.root === undefined ? null : resolve(place, written.root),
    authority: written.authority?.replace(/\/+$/, '') ?? null,
    log: written.log?.replace(/\/+$/, '') ?? null,
  };
}

function ruleOf(written: WrittenRule, keys: readonly TrustedKey[], location: SourceLocation): TrustRule {
  const { names, signed_by: by, mode = 'required' } = written;
  const signedBy = by === undefined ? null : (by.any ?? [by]).map((each) => wantedSigner(each, keys));
  return { names, signedBy, isWarning: mode === 'warn', location };
}

/** `checkRules` has made sure that it has either an identity or a key, and that the key is known. */
function wantedSigner({ issuer = '', identity = '', key }: WrittenSigner, keys: readonly TrustedKey[]): WantedSigner {
  if (key === undefined) return { kind: 'identity', issuer, identity };
  const found = keys.find(({ name }) => name === key);
  if (found === undefined) throw new Error('a rule names a key that was not checked');
  return { kind: 'key', key: found };
}

function readKey(name: string, path: string, location: SourceLocation): TrustedKey {
  const reading = readSmallText(path);
  const fault = (clause: string): Diagnostic => {
    const hint = 'name the file that ends in .pub of svc key new, or another public key on P-256 in PEM';
    return new Diagnostic('E-REG-013', `trust.keys.${name}: ${path} ${clause}`, { hint, location });
  };
  if (reading.kind === 'absent') throw fault('is not there');
  if (reading.kind === 'unreadable') throw fault(`cannot be read: ${reading.reason}`);
  const spki = decodePublicKey(reading.text);
  if (spki === null) throw fault('is no public key for ECDSA on P-256');
  return { name, fingerprint: sha256Hex(spki), spki };
}

/** A public key of ECDSA on P-256 as DER; null for any other text, also for a private key, which does not belong in a policy. */
export function decodePublicKey(pem: string): Buffer | null {
  if (!/^-----BEGIN PUBLIC KEY-----\r?\n/m.test(pem)) return null;
  try {
    const key = createPublicKey(pem);
    const isKnown = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    return isKnown ? key.export({ type: 'spki', format: 'der' }) : null;
  } catch {
    // OpenSSL throws errors of many kinds for what is no key.
    return null;
  }
}
