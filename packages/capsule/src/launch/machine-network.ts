/** Finds out through which proxies this machine reaches what a capsule is granted, and which authorities of certificates its programs are to trust. */

import { rootCertificates } from 'node:tls';

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { destinationOf, formatDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { type ProxyFor, proxyFor, shownProxy } from '@svc/kit/net/proxy.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { shortestGranted } from './session-secrets.ts';

/** What stands between a capsule and the network. */
export interface MachineNetwork {
  /** Is null if nothing goes through a proxy. */
  readonly proxyFor: ProxyFor | null;
  readonly proxied: Pick<ScopeObject, 'proxied'>;
  /** The secrets in the addresses of proxies. */
  readonly secrets: readonly Secret[];
  /** Certificates as PEM, those of the system among them; null if the environment names none beside these. */
  readonly authorities: string | null;
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

export interface GrantedPlaces
  extends Pick<EffectiveGrants, 'endpoint' | 'networkAllow'>, Partial<Pick<EffectiveGrants, 'remoteServers'>> {
  /** Whether a person may grant further hosts while the session runs. */
  readonly asksHosts?: boolean;
}

/** `env` is the operator's own: no file of a workspace names a proxy or an authority. `E-REG-006` refuses a proxy that cannot be used. */
export function machineNetwork(grants: GrantedPlaces, env: Environment): MachineNetwork {
  const { endpoint, networkAllow, remoteServers = [], asksHosts = false } = grants;
  const servers = remoteServers.flatMap(({ url }) => destinationOf(new URL(url)) ?? []);
  const places = [...(endpoint === null ? [] : [endpoint]), ...networkAllow, ...servers];
  let proxied: NonNullable<ScopeObject['proxied']> = [];
  const refusal = diagnosticOf(() => {
    proxied = places.flatMap((place) => proxiesOf(place, env));
  });
  const { authorities, warnings } = networkAllow.length > 0 || asksHosts ? authoritiesIn(env) : noAuthorities;
  return {
    proxyFor: proxied.length > 0 || asksHosts ? (url) => proxyFor(url, env) : null,
    proxied: proxied.length === 0 ? {} : { proxied },
    secrets: secretsOf(env),
    authorities,
    refusals: refusal === null ? [] : [refusal],
    warnings,
  };
}

/** One line for a place, or one for each scheme where they have different proxies. */
function proxiesOf(place: NetworkDestination, env: Environment): NonNullable<ScopeObject['proxied']> {
  const { scheme, host, port } = place;
  const lines = (scheme === null ? (['https', 'http'] as const) : [scheme]).map((each) => {
    const proxy = proxyFor(new URL(`${each}://${host}${port === null ? '' : `:${port}`}/`), env);
    return {
      host: `${each}://${host}${port === null ? '' : `:${port}`}`,
      proxy: proxy === null ? null : shownProxy(proxy),
    };
  });
  const [first] = lines;
  const isOne = lines.every(({ proxy }) => proxy === first?.proxy);
  const shown = isOne ? [{ host: formatDestination(place), proxy: first?.proxy ?? null }] : lines;
  return shown.flatMap(({ host: name, proxy }) => (proxy === null ? [] : [{ host: name, proxy }]));
}

const proxyVariables = /^(?:https?|all)_proxy$/i;

/** A password as it is written and as it is meant, and as it is sent. */
function secretsOf(env: Environment): readonly Secret[] {
  const texts = Object.keys(env).flatMap((name) => {
    if (!proxyVariables.test(name)) return [];
    const [, user = '', password = ''] = /^(?:[a-z\d]+:\/\/)?([^:/@]*):([^/]*)@/i.exec(env[name] ?? '') ?? [];
    const [plainUser = '', plain = ''] = [user, password].map((text) => decodePercent(text) ?? text);
    return [password, plain, Buffer.from(`${plainUser}:${plain}`).toString('base64')];
  });
  return texts.filter((text) => text.length >= shortestGranted).map((text) => new Secret(text));
}

/** Where systems keep all certificates in one file. */
export const systemBundles: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const certificate = /-----BEGIN (TRUSTED |)CERTIFICATE-----[\s\w+/=]+-----END \1CERTIFICATE-----/g;

type Authorities = Pick<MachineNetwork, 'authorities' | 'warnings'>;

const noAuthorities: Authorities = { authorities: null, warnings: [] };

/**
 * The certificates of `SSL_CERT_FILE`, else of the system, and those of `NODE_EXTRA_CA_CERTS`; nothing else that these files hold. `W-RUN-188` for
 * one of them that has none.
 */
function authoritiesIn(env: Environment): Authorities {
  const warnings: Diagnostic[] = [];
  const named = (name: string): readonly string[] => {
    const file = env[name] ?? '';
    if (file === '') return [];
    const found = certificatesIn(file);
    if (typeof found !== 'string') return found;
    const message = `programs get no certificates of ${file}, which ${name} names: ${found}`;
    warnings.push(new Diagnostic('W-RUN-188', message, { hint: 'name a file of certificates in PEM, or unset it' }));
    return [];
  };
  const [whole, more] = [named('SSL_CERT_FILE'), named('NODE_EXTRA_CA_CERTS')];
  if (whole.length + more.length === 0) return { authorities: null, warnings };
  const all = [...(whole.length > 0 ? whole : ofSystem()), ...more];
  return { authorities: `${[...new Set(all)].join('\n')}\n`, warnings };
}

/** The certificates of a file; a clause where it has none. */
function certificatesIn(file: string): readonly string[] | string {
  const reading = readSmallText(file);
  if (reading.kind === 'absent') return 'there is no such file';
  if (reading.kind === 'unreadable') return reading.reason;
  const found = reading.text.match(certificate) ?? [];
  return found.length === 0 ? 'it holds no certificate in PEM' : found;
}

/** The certificates of the system in PEM. */
export function systemAuthorities(): string {
  return `${ofSystem().join('\n')}\n`;
}

function ofSystem(): readonly string[] {
  for (const file of systemBundles) {
    const found = certificatesIn(file);
    if (typeof found !== 'string') return found;
  }
  return rootCertificates;
}
