/** What is held of requests to hosts that a manifest grants with rules or a credential. */

import type { CredentialScheme } from '@svc/kit/keys/bound-host.ts';
import { formatDestination, type NetworkDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import type { CapsuleManifest } from '../manifest/schema.ts';

/** The subject of `for` that stands for the commands of a capsule. */
export const commandSubject = 'shell';

/** One origin of `network.allow` that is granted with more than its name. */
export interface HostBinding {
  readonly destination: Extract<NetworkDestination, { readonly scheme: 'http' | 'https' }>;
  /** `GET /repos/acme/**`; null where every request may be made. */
  readonly rules: readonly string[] | null;
  /** The name of a credential. */
  readonly credential: string | null;
  /** Whether a request may have another credential instead. */
  readonly allowsForeign: boolean;
}

/** A credential without its value. */
export interface CredentialGrant {
  readonly name: string;
  /** `shell`, and names of artifacts. */
  readonly for: readonly string[];
  /** In lower case. */
  readonly header: string;
  readonly scheme: CredentialScheme;
  /** The user of `basic`, the access key of `sigv4`, the client of `oauth2`, else empty. */
  readonly user: string;
  /** Where `oauth2` has access tokens; null for the others. */
  readonly tokenEndpoint: string | null;
  /** What `sigv4` signs for; null for the others. */
  readonly signing: { readonly region: string; readonly service: string } | null;
  /** The variable that has the placeholder. */
  readonly env: string | null;
  /** What the placeholder begins with. */
  readonly shape: string;
}

/** Both for a manifest that was checked, in its order. */
export interface KeyGrants {
  readonly bindings: readonly HostBinding[];
  readonly credentials: readonly CredentialGrant[];
}

export function keyGrantsIn({ network, credentials = {} }: CapsuleManifest['capabilities']): KeyGrants {
  return {
    bindings: (network?.allow ?? []).flatMap((entry) => (typeof entry === 'string' ? [] : bindingOf(entry))),
    credentials: Object.entries(credentials).map(
      ([name, { for: subjects = [], header, scheme, user, region = '', service = '', env, shape, ...more }]) => ({
        name,
        for: [...new Set(subjects)],
        header: header.toLowerCase(),
        scheme: scheme ?? (header.toLowerCase() === 'authorization' ? 'bearer' : 'raw'),
        user: user ?? '',
        tokenEndpoint: more.token_endpoint ?? null,
        signing: scheme === 'sigv4' ? { region, service } : null,
        env: env ?? null,
        shape,
      }),
    ),
  };
}

type BlockEntry = Exclude<NonNullable<CapsuleManifest['capabilities']['network']>['allow'][number], string>;

function bindingOf({ host, rules, credential, foreign }: BlockEntry): readonly HostBinding[] {
  const reading = parseDestination(host);
  if (reading.kind === 'malformed' || reading.destination.scheme === null) return [];
  if (rules === undefined && credential === undefined) return [];
  return [
    {
      destination: reading.destination,
      rules: rules === undefined ? null : [...new Set(rules)],
      credential: credential ?? null,
      allowsForeign: foreign === 'allow',
    },
  ];
}

/** What a scope report has of them; absent where nothing is bound. */
export interface KeyFields {
  readonly bound_hosts?: readonly {
    readonly host: string;
    readonly rules?: readonly string[];
    readonly credential?: string;
    readonly foreign?: 'allow';
  }[];
  readonly credentials?: readonly {
    readonly name: string;
    readonly for: readonly string[];
    readonly header: string;
    readonly scheme: CredentialScheme;
    readonly region?: string;
    readonly service?: string;
    readonly token_endpoint?: string;
    readonly env?: string;
  }[];
}

export function keyFields({ bindings, credentials }: KeyGrants): KeyFields {
  const hosts = bindings.map(({ destination, rules, credential, allowsForeign }) => ({
    host: formatDestination(destination),
    ...(rules === null ? {} : { rules }),
    ...(credential === null ? {} : { credential }),
    ...(allowsForeign ? ({ foreign: 'allow' } as const) : {}),
  }));
  const held = credentials.map(({ name, for: subjects, header, scheme, signing, tokenEndpoint, env }) => ({
    name,
    for: subjects,
    header,
    scheme,
    ...signing,
    ...(tokenEndpoint === null ? {} : { token_endpoint: tokenEndpoint }),
    ...(env === null ? {} : { env }),
  }));
  return { ...(hosts.length === 0 ? {} : { bound_hosts: hosts }), ...(held.length === 0 ? {} : { credentials: held }) };
}

/**
 * What of a child's bindings goes beyond those of its parent, as the host and a clause; null when nothing does. A host that the parent reaches under
 * rules or with a credential alone is reached by the child in no other way, and a credential has the same header and form in both.
 */
export function beyondBindings(
  parent: KeyGrants,
  child: KeyGrants & { readonly networkAllow: readonly NetworkDestination[] },
): { readonly declared: string; readonly clause: string } | null {
  const held = new Map(parent.bindings.map((binding) => [formatDestination(binding.destination), binding]));
  const asked = new Map(child.bindings.map((binding) => [formatDestination(binding.destination), binding]));
  for (const destination of child.networkAllow) {
    const declared = formatDestination(destination);
    const clause = beyondBinding(held.get(declared) ?? null, asked.get(declared) ?? null);
    if (clause !== null) return { declared, clause };
  }
  const changed = child.bindings.find(({ credential }) => formOf(parent, credential) !== formOf(child, credential));
  if (changed === undefined) return null;
  return {
    declared: formatDestination(changed.destination),
    clause: 'with a credential that the parent has in another form',
  };
}

function beyondBinding(held: HostBinding | null, asked: HostBinding | null): string | null {
  if ((asked?.credential ?? null) !== null && held?.credential !== asked?.credential)
    return 'with a credential that the parent does not have for it';
  if (held === null) return null;
  if (held.credential !== null && asked?.credential !== held.credential)
    return 'without the credential with which alone the parent reaches it';
  if (held.credential !== null && !held.allowsForeign && asked?.allowsForeign === true)
    return 'with foreign: allow, which the parent does not have';
  if (held.rules === null) return null;
  if (asked === null || asked.rules === null) return 'without the rules that the parent is held to';
  const rules = new Set(held.rules);
  const more = asked.rules.find((rule) => !rules.has(rule));
  return more === undefined ? null : `with the rule ${more}, which the parent does not have`;
}

function formOf({ credentials }: KeyGrants, name: string | null): string {
  const found = credentials.find((each) => each.name === name);
  return found === undefined
    ? ''
    : JSON.stringify([found.header, found.scheme, found.user, found.signing, found.tokenEndpoint]);
}
