/** Decides on a request to a host whose entry in the grants has rules or a credential, and puts the key into it. */

import type { Secret } from '../diagnostics/secret.ts';
import type {
  AccessTokens,
  AnswerGuard,
  AskedRequest,
  BoundDecision,
  BoundHost,
  CredentialScheme,
  HeaderLine,
  RequestRulings,
  RequestSigner,
} from './bound-host.ts';
import { foreignCredential } from './foreign-credential.ts';
import { KeyWatch } from './key-watch.ts';
import { overridingHeader, pathFault, permits, type RequestRule } from './request-rules.ts';
import { faultOfSignature, isSignedWith, signerFor, type SigningTerms, unsigned } from './signed-again.ts';

/** An origin that is granted with rules, a credential or both, as one asker meets it. */
export interface BoundOrigin {
  /** `https://api.github.com`, as a URL has it. */
  readonly origin: string;
  /** Is null if every request may be made. */
  readonly rules: readonly RequestRule[] | null;
  readonly key: HeldKey | null;
  /** What rules of `approvals` say of its requests; absent where none names it. */
  readonly rulings?: RequestRulings;
}

/** A key that is put into the requests to one origin. A component or program that asks never gets it. */
export interface HeldKey {
  /** The name of its credential. */
  readonly credential: string;
  /** In lower case. */
  readonly header: string;
  readonly scheme: CredentialScheme;
  /** The user of `basic`, the access key of `sigv4`. */
  readonly user: string;
  readonly secret: Secret;
  /** What stands for it in requests of this asker; null where the credential is not for it. */
  readonly placeholder: string | null;
  /** Whether a request may have another credential instead. */
  readonly allowsForeign: boolean;
  /** The rest of a key of `sigv4`; absent for the others. */
  readonly signing?: SigningTerms;
  /** The access tokens of a key of `oauth2`; absent for the others. */
  readonly tokens?: AccessTokens;
}

/** Holds requests to the rules of their origin, refuses the keys of others in them, puts in the key that they may have, and looks for it in answers. */
export function boundHost(bound: BoundOrigin): BoundHost {
  const { origin, key } = bound;
  return {
    origin,
    isGuarded: key !== null,
    decide: (asked) => judgedRequest(bound, asked),
    openGuard: () => (key === null ? null : guardOf(origin, key)),
  };
}

function guardOf(origin: string, { credential, secret, allowsForeign, signing, tokens }: HeldKey): AnswerGuard {
  const token = signing?.sessionToken ?? null;
  const watch = new KeyWatch(
    secret.reveal(),
    ...(token === null ? [] : [token.reveal()]),
    ...(tokens?.secrets() ?? []),
  );
  return {
    rule: ruleOf(credential),
    cutWords: `the answer of ${origin} had the key of the credential ${credential} in it, and was cut`,
    unsearchedWords: `the answer of ${origin} could not be searched for the key of the credential ${credential}, and was cut`,
    headers: (lines) => {
      if (lines.some(([name, value]) => watch.isIn(name) || watch.isIn(value.toString('latin1')))) return null;
      return allowsForeign ? lines : lines.filter(([name]) => !/^set-cookie2?$/i.test(name));
    },
    next: (piece) => watch.next(piece),
    rest: () => watch.rest(),
  };
}

function ruleOf(credential: string): string {
  return `capabilities.credentials.${credential}`;
}

/** What the grants let through is held to the rules of `approvals`. */
function judgedRequest(bound: BoundOrigin, asked: AskedRequest): BoundDecision {
  const { origin, rulings } = bound;
  const granted = boundRequest(bound, asked);
  if (granted.kind === 'refused' || rulings === undefined) return granted;
  const ruling = rulings(asked);
  if (ruling === null) return granted;
  const { verdict, rule } = ruling;
  if (verdict === 'ask') return { ...granted, asks: rule };
  return refuse(rule, `A request ${asked.method} to ${origin} is refused: the operator denies it (${rule}).`);
}

function boundRequest({ origin, rules, key, rulings }: BoundOrigin, asked: AskedRequest): BoundDecision {
  const { method, target, headers } = asked;
  if (rules !== null && !permits(rules, method, target)) return refuse(rulesKey, beyondRules(origin, asked));
  const fault = rulings === undefined ? null : pathFault(target);
  if (fault !== null)
    return refuse(approvalsKey, `A request ${method} to ${origin} is refused: its path ${fault}, ${twoReadings}.`);
  const isHeld = rules !== null || rulings !== undefined;
  const overriding = isHeld ? overridingHeader(headers.map(([name]) => name)) : null;
  if (overriding !== null) {
    const reason = `A request to ${origin} is refused: its header ${overriding.toLowerCase()} has a method or path of its own, and rules are held by those of the first line.`;
    return refuse(rules === null ? approvalsKey : rulesKey, reason);
  }
  if (key === null) return permitted(headers);
  const { placeholder, signing, tokens } = key;
  const shown = placeholder === null || signing === undefined ? null : faultOfSignature(asked, placeholder, signing);
  if (shown !== null) return refuse(signingKey, notSigned(origin, shown));
  const own = ownHeaders(key, headers);
  const rest = own === null ? headers : headers.filter((line) => !own.includes(line));
  const foreign = key.allowsForeign ? null : foreignCredential({ target, headers: rest }, key.header);
  if (foreign !== null) {
    const whose = placeholder === null ? 'which is not for who asks' : 'and no other';
    const reason = `A request to ${origin} is refused: it has a credential of its own, ${foreign}. That host is reached with the credential ${key.credential}, ${whose}.`;
    return refuse(ruleOf(key.credential), reason);
  }
  // A signature covers the whole request: it stands beside no other credential, wherever that is.
  const hasOther =
    signing === undefined
      ? rest.some(([name]) => name.toLowerCase() === key.header)
      : key.allowsForeign && foreignCredential({ target, headers: rest }, key.header) !== null;
  if (placeholder === null || hasOther) return permitted(rest);
  if (tokens !== undefined) return { ...permitted(rest), keyed: true, signer: bearerOf(tokens, key) };
  if (signing === undefined) {
    const headers: readonly HeaderLine[] = [...rest, [key.header, keyedValue(key)]];
    return { ...permitted(rest), headers, keyed: true };
  }
  const kept = { ...asked, headers: unsigned(rest) };
  const signer = signerFor(kept, { ...signing, accessKeyId: key.user, secret: key.secret });
  if ('fault' in signer) return refuse(signingKey, notSigned(origin, signer.fault));
  return { ...permitted(kept.headers), keyed: true, signer };
}

function permitted(headers: readonly HeaderLine[]): Extract<BoundDecision, { readonly kind: 'permitted' }> {
  return { kind: 'permitted', headers, unkeyed: headers, keyed: false, signer: null, asks: null };
}

function bearerOf(tokens: AccessTokens, { header }: HeldKey): RequestSigner {
  return {
    needsBody: false,
    sign: async () => {
      const given = await tokens.current();
      return 'fault' in given ? given : { lines: [[header, `Bearer ${given.token}`]] };
    },
  };
}

const rulesKey = 'capabilities.network.allow[].rules';
const approvalsKey = 'approvals.rules';
const twoReadings = 'so that it has two readings';
const signingKey = 'capabilities.network.allow[].credential';

function notSigned(origin: string, fault: string): string {
  return `A request to ${origin} is refused: it ${fault}.`;
}

function refuse(rule: string, reason: string): BoundDecision {
  return { kind: 'refused', rule, reason };
}

function beyondRules(origin: string, { method, target }: AskedRequest): string {
  const fault = pathFault(target);
  const why = fault === null ? 'no rule of that host lists its path' : `its path ${fault}, ${twoReadings}`;
  return `A request ${method} to ${origin} is refused: ${why}.`;
}

/** The value of the header that has the key. */
function keyedValue({ scheme, user, secret }: Pick<HeldKey, 'scheme' | 'user' | 'secret'>): string {
  const value = secret.reveal();
  if (scheme === 'raw') return value;
  return scheme === 'bearer'
    ? `Bearer ${value}`
    : `Basic ${Buffer.from(`${user}:${value}`, 'latin1').toString('base64')}`;
}

/** The lines in which an asker shows its placeholder as a credential, all of which the key replaces; null without one. */
function ownHeaders(
  { header, placeholder, signing }: HeldKey,
  headers: readonly HeaderLine[],
): readonly HeaderLine[] | null {
  if (placeholder === null) return null;
  const isOwn = signing === undefined ? showsPlaceholder : isSignedWith;
  const own = headers.filter(([name, value]) => name.toLowerCase() === header && isOwn(value, placeholder));
  return own.length === 1 ? own : null;
}

function showsPlaceholder(value: string, placeholder: string): boolean {
  const [word = '', rest] = value.split(' ', 2);
  if (value === placeholder || (rest === placeholder && value === `${word} ${rest}`)) return true;
  const [, encoded] = /^basic ([a-z0-9+/]+={0,2})$/i.exec(value) ?? [];
  if (encoded === undefined) return false;
  const plain = Buffer.from(encoded, 'base64').toString('latin1');
  return plain.startsWith(`${placeholder}:`) || plain.endsWith(`:${placeholder}`);
}
