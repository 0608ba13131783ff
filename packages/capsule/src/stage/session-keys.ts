/** Holds the keys of a session, and says what each of those who ask for a host gets of them (docs/boundary.md "Keys"). */

import type { CredentialGrant, HostBinding, KeyGrants } from '@svc/artifacts/grants/host-bindings.ts';
import type { Approvals } from '@svc/artifacts/manifest/approvals.ts';
import { besideValue, type LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { signingVariables } from '@svc/artifacts/manifest/signing-variables.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { AccessTokens, BoundHost, BoundHosts } from '@svc/kit/keys/bound-host.ts';
import { boundHost, type HeldKey } from '@svc/kit/keys/bound-origin.ts';
import { parseRule, type RequestRule } from '@svc/kit/keys/request-rules.ts';
import type { SigningTerms } from '@svc/kit/keys/signed-again.ts';
import { formatDestination } from '@svc/kit/net/network-destination.ts';
import { RequestRules } from '@svc/session/approvals/request-rules.ts';

interface SessionKeysDeps {
  readonly grants: KeyGrants;
  /** By the names of their credentials. */
  readonly secrets: LoadedManifest['credentials'];
  readonly clock: Pick<Clock, 'now' | 'randomBytes'>;
  /** The access tokens of credentials that are renewed, by their names. */
  readonly tokens: ReadonlyMap<string, AccessTokens>;
  readonly approvals?: Pick<Approvals, 'rules' | 'default'> | undefined;
}

/** The keys of one session. A placeholder stands for one key in the hands of one subject. */
export class SessionKeys {
  readonly #deps: SessionKeysDeps;
  /** By subject and credential. */
  readonly #placeholders = new Map<string, string>();
  readonly #requests: RequestRules | null;

  constructor(deps: SessionKeysDeps) {
    this.#deps = deps;
    this.#requests = deps.approvals === undefined ? null : new RequestRules(deps.approvals);
  }

  /** Whether a rule of `approvals` is about requests. */
  get asksRequests(): boolean {
    return this.#deps.grants.bindings.some((binding) => this.#requests?.of(originOf(binding)) != null);
  }

  /** The hosts as a subject meets them: the name of an artifact, `shell` for commands, null for the program of the driver. */
  hostsFor(subject: string | null): BoundHosts {
    const hosts = new Map(
      this.#deps.grants.bindings.map((binding) => [originOf(binding), this.#hostOf(binding, subject)]),
    );
    return (origin) => hosts.get(origin) ?? null;
  }

  /** The variables that have placeholders. */
  variablesFor(subject: string | null): Readonly<Record<string, string>> {
    const set = this.#deps.grants.credentials.flatMap((credential) => {
      const placeholder = this.#placeholderOf(credential, subject);
      return credential.env === null || placeholder === null
        ? []
        : variablesOf(credential.signing, credential.env, placeholder);
    });
    return Object.fromEntries(set);
  }

  /** Whether a key stands in the value of a variable, which nobody gets then. */
  isIn(value: string): boolean {
    return [...(this.#deps.secrets?.values() ?? [])].some((secret) => value.includes(secret.reveal()));
  }

  #hostOf(binding: HostBinding, subject: string | null): BoundHost {
    const origin = originOf(binding);
    const rules = binding.rules === null ? null : binding.rules.flatMap(readRule);
    const rulings = this.#requests?.of(origin) ?? null;
    const held = { origin, rules, ...(rulings === null ? {} : { rulings }) };
    const credential = this.#deps.grants.credentials.find(({ name }) => name === binding.credential);
    if (credential === undefined) return boundHost({ ...held, key: null });
    const secret = this.#deps.secrets?.get(credential.name);
    if (secret === undefined) return closedHost(origin, credential.name);
    const { name, header, scheme, user, signing } = credential;
    const tokens = this.#deps.tokens.get(name);
    if (scheme === 'oauth2' && tokens === undefined) return closedHost(origin, name);
    const placeholder = this.#placeholderOf(credential, subject);
    const key: HeldKey = {
      credential: name,
      header,
      scheme,
      user,
      secret,
      placeholder,
      allowsForeign: binding.allowsForeign,
      ...(signing === null ? {} : { signing: this.#termsOf(name, signing) }),
      ...(tokens === undefined ? {} : { tokens }),
    };
    return boundHost({ ...held, key });
  }

  #termsOf(name: string, signing: NonNullable<CredentialGrant['signing']>): SigningTerms {
    const { secrets, clock } = this.#deps;
    return {
      ...signing,
      sessionToken: secrets?.get(besideValue(name, 'session_token')) ?? null,
      now: () => clock.now(),
    };
  }

  /** Returns null if the credential is not for the subject. */
  #placeholderOf({ name, for: subjects, shape }: CredentialGrant, subject: string | null): string | null {
    if (subject === null || !subjects.includes(subject)) return null;
    const which = `${name} ${subject}`;
    const known = this.#placeholders.get(which);
    if (known !== undefined) return known;
    const placeholder = `${shape}${Buffer.from(this.#deps.clock.randomBytes(16)).toString('hex')}`;
    this.#placeholders.set(which, placeholder);
    return placeholder;
  }
}

type Variable = readonly [name: string, value: string];

/** A client that signs has the placeholder for its access key and for its secret. */
function variablesOf(signing: CredentialGrant['signing'], variable: string, placeholder: string): readonly Variable[] {
  if (signing === null) return [[variable, placeholder]];
  const [key, secret, ...regions] = signingVariables(variable);
  return [[key, placeholder], [secret, placeholder], ...regions.map((name) => [name, signing.region] as const)];
}

function originOf({ destination }: HostBinding): string {
  return new URL(formatDestination(destination)).origin;
}

function readRule(text: string): readonly RequestRule[] {
  const reading = parseRule(text);
  return reading.kind === 'rule' ? [reading.rule] : [];
}

/** The host in a session whose key is missing, as in one that is run again without it. */
function closedHost(origin: string, credential: string): BoundHost {
  const reason = `A request to ${origin} is refused: the key of the credential ${credential} is not there.`;
  return {
    origin,
    isGuarded: true,
    decide: () => ({ kind: 'refused', rule: `capabilities.credentials.${credential}`, reason }),
    openGuard: () => null,
  };
}
