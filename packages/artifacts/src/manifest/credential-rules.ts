/** The rules of a manifest's credentials and of hosts that are granted with rules or a credential: what cannot be held as it is written is refused. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import {
  covers,
  destinationOf,
  formatDestination,
  type NetworkDestination,
  parseDestination,
} from '@svc/kit/net/network-destination.ts';
import { remoteServerOf } from './artifact-place.ts';
import type { Findings } from './checked-document.ts';
import { type Draft, type KeyPath, renderKeyPath } from './key-path.ts';
import { referencedVariable } from './references.ts';
import { accessKeyVariable, signingVariables } from './signing-variables.ts';

const shortestValue = 8;
const allow: KeyPath = ['capabilities', 'network', 'allow'];
const held: KeyPath = ['capabilities', 'credentials'];

/** What frames a message, leads it to another place, or is meant for those on its way. */
const routing =
  /^(?:host|content-(?:length|encoding|type)|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|via|range|accept-encoding|cookie2?|proxy-.*|forwarded|x-forwarded-.*|x-(?:original|rewrite)-.*|x-http-method.*|x-method-override|http2-settings)$/i;

/** `E-CAP-030` for all that is wrong with `capabilities.credentials` and with blocks of `capabilities.network.allow` (docs/boundary.md "Refused at load"). */
export function checkCredentials(draft: Draft, findings: Findings): void {
  const entries = entriesOf(draft);
  const names = draft.isBlock(...held) ? Object.keys(draft.at(...held) as object) : [];
  for (const entry of entries) if (entry.isBlock) checkEntry(draft, entries, { entry, names, findings });
  checkServers(draft, entries, findings);
  checkPeers(draft, entries, findings);
  for (const name of names) checkCredential(draft, name, findings);
  checkVariables(draft, names, findings);
}

interface Entry {
  readonly path: KeyPath;
  readonly isBlock: boolean;
  readonly destination: NetworkDestination | null;
  readonly credential: unknown;
}

function entriesOf(draft: Draft): readonly Entry[] {
  return draft.list(...allow).map((entry, index) => {
    const path = [...allow, index];
    const isBlock = draft.isBlock(...path);
    const host = isBlock ? draft.at(...path, 'host') : entry;
    const reading = parseDestination(typeof host === 'string' ? host : '');
    const destination = reading.kind === 'destination' ? reading.destination : null;
    return { path, isBlock, destination, credential: isBlock ? draft.at(...path, 'credential') : undefined };
  });
}

/** Components and programs are held to such a block. svc asks a server on the web itself, and is not. */
function checkServers(draft: Draft, entries: readonly Entry[], findings: Findings): void {
  for (const [index] of draft.list('artifacts').entries()) {
    const path: KeyPath = ['artifacts', index, 'from'];
    const from = draft.at(...path);
    const url = remoteServerOf(typeof from === 'string' ? from : undefined);
    const server = url === null ? undefined : destinationOf(url);
    if (server === undefined) continue;
    const held = entries.find(
      ({ isBlock, destination }) => isBlock && destination !== null && covers(destination, server),
    );
    if (held === undefined) continue;
    const message = `${renderKeyPath(path)} names a server at a host that ${renderKeyPath(held.path)} holds to rules or a key, which calls of a server's tools would not be held to`;
    findings.add('E-CAP-030', message, {
      path,
      hint: 'keep one of the two: auth of the entry is what the server is shown',
    });
  }
}

/** svc itself fetches from peers, as from servers: nothing holds that to a block. */
function checkPeers(draft: Draft, entries: readonly Entry[], findings: Findings): void {
  const peers: KeyPath = ['capabilities', 'peer_fetch', 'allow'];
  for (const [index, peer] of draft.list(...peers).entries()) {
    const reading = parseDestination(typeof peer === 'string' ? peer : '');
    if (reading.kind === 'malformed') continue;
    const held = entries.find(({ isBlock, destination }) => isBlock && overlaps(destination, reading.destination));
    if (held === undefined) continue;
    const path = [...peers, index];
    const message = `${renderKeyPath(path)} is a host that ${renderKeyPath(held.path)} holds to rules or a key, which fetch-peer-file would not be held to`;
    findings.add('E-CAP-030', message, { path, hint: 'keep one of the two' });
  }
}

interface EntryCheck {
  readonly entry: Entry;
  readonly names: readonly string[];
  readonly findings: Findings;
}

function checkEntry(draft: Draft, entries: readonly Entry[], { entry, names, findings }: EntryCheck): void {
  const { path, destination, credential } = entry;
  const where = renderKeyPath(path);
  const host: KeyPath = [...path, 'host'];
  const refuse = (at: KeyPath, message: string, hint: string): void =>
    findings.add('E-CAP-030', message, { path: at, hint });
  if (draft.has(...path, 'foreign') && credential === undefined)
    refuse([...path, 'foreign'], `${where}.foreign stands without a credential`, 'remove it, or name a credential');
  if (typeof credential === 'string' && !names.includes(credential)) {
    const hint = didYouMean(credential, names) ?? 'declare it in capabilities.credentials';
    refuse([...path, 'credential'], `${where}.credential names none of capabilities.credentials`, hint);
  }
  if (destination === null) return;
  const shown = formatDestination(destination);
  if (destination.scheme === null) {
    refuse(host, `${where}.host has no scheme: what is held is held for one origin`, `write https://${shown}`);
    return;
  }
  if (credential !== undefined && destination.scheme === 'http' && !isLoopback(destination.host))
    refuse(
      host,
      `${where} would send a key over http, which anybody on the way can read`,
      'name the host with https://',
    );
  const other = entries.find((each) => each !== entry && overlaps(each.destination, destination));
  if (other !== undefined)
    refuse(
      host,
      `${where}.host is granted by ${renderKeyPath(other.path)} too, which holds something else`,
      'name each host once',
    );
  if (originOf(draft.at('inference', 'endpoint')) === shown)
    refuse(host, `${where}.host is that of inference.endpoint, whose key is inference.api_key`, 'remove the entry');
}

function overlaps(one: NetworkDestination | null, other: NetworkDestination): boolean {
  return one !== null && (covers(one, other) || covers(other, one));
}

function originOf(endpoint: unknown): string | null {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return null;
  const reading = parseDestination(new URL(endpoint).origin);
  return reading.kind === 'destination' ? formatDestination(reading.destination) : null;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function checkCredential(draft: Draft, name: string, findings: Findings): void {
  const path = [...held, name];
  const where = renderKeyPath(path);
  const refuse = (key: string, clause: string, hint: string): void =>
    findings.add('E-CAP-030', `${where}${clause}`, { path: [...path, key], hint });
  const { value, header, scheme, user } = draft.isBlock(...path) ? (draft.at(...path) as Record<string, unknown>) : {};
  if (!draft.has(...path, 'for')) refuse('for', ' has no for: nobody would get it', 'list shell or names of artifacts');
  if (value === undefined) refuse('value', ' has no value', 'name a variable: value: ${TOKEN}');
  if (typeof value === 'string' && referencedVariable(value) === undefined) {
    if (value.length < shortestValue)
      refuse(
        'value',
        `.value has fewer than ${shortestValue} characters: it could not be found in an answer`,
        'give a longer key',
      );
    else if (!/^[!-~](?:[ -~]*[!-~])?$/.test(value))
      refuse('value', '.value has a character that no header of a request takes', 'give the key alone');
  }
  if (typeof header === 'string' && routing.test(header))
    refuse(
      'header',
      '.header frames or leads a request, and takes no key',
      'name the header that the service reads its key from',
    );
  for (const [key, clause, hint] of schemeFaults(draft, path, { scheme, user })) refuse(key, clause, hint);
  if (!draft.list(...allow).some((entry) => (entry as { credential?: unknown } | null)?.credential === name))
    refuse(
      'for',
      ' is named by no host of capabilities.network.allow',
      `add credential: ${name} to the block of a host`,
    );
  draft.list(...path, 'for').forEach((subject, index) => {
    const clause = typeof subject === 'string' ? subjectFault(draft, subject) : null;
    if (clause === null) return;
    const names = draft.list('artifacts').map((_, at) => String(draft.at('artifacts', at, 'name')));
    const hint = didYouMean(String(subject), ['shell', ...names]);
    findings.add('E-CAP-030', `${where}.for[${index}] ${clause}`, {
      path: [...path, 'for', index],
      ...(hint === undefined || clause !== nobody ? {} : { hint }),
    });
  });
}

/** What is secret beside the value. */
const besideValues = ['session_token', 'client_secret'] as const;
/** Keys that one scheme alone has. */
const ownKeys = { sigv4: ['region', 'service', 'session_token'], oauth2: ['token_endpoint', 'client_secret'] };
const neededKeys: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['basic', ['user']],
  ['sigv4', ['user', 'region', 'service']],
  ['oauth2', ['user', 'token_endpoint']],
]);

type KeyFault = readonly [key: string, clause: string, hint: string];

/** What a scheme needs beside the value, and what stands there for another scheme. */
function schemeFaults(draft: Draft, path: KeyPath, { scheme, user }: Record<string, unknown>): readonly KeyFault[] {
  const faults = Object.entries(ownKeys).flatMap(([its, keys]) =>
    keys
      .filter((key) => scheme !== its && draft.has(...path, key))
      .map((key): KeyFault => [key, `.${key} stands without scheme: ${its}`, 'remove it']),
  );
  const needs = neededKeys.get(scheme) ?? [];
  if (user !== undefined && !needs.includes('user'))
    faults.push(['user', '.user stands without scheme: basic, sigv4 or oauth2', 'remove it']);
  for (const key of needs)
    if (!draft.has(...path, key))
      faults.push([key, ` with scheme: ${String(scheme)} has no ${key}`, `add ${needs.join(', ')} (docs/boundary.md)`]);
  if (scheme !== 'sigv4' && scheme !== 'oauth2') return faults;
  const header = draft.at(...path, 'header');
  if (typeof header === 'string' && header.toLowerCase() !== 'authorization')
    faults.push(['header', ` with scheme: ${scheme} has another header than authorization`, 'remove it']);
  const endpoint = draft.at(...path, 'token_endpoint');
  const fault = typeof endpoint === 'string' && scheme === 'oauth2' ? endpointFault(endpoint) : undefined;
  if (fault !== undefined)
    faults.push(['token_endpoint', `.token_endpoint ${fault}`, 'name the address that gives tokens']);
  for (const key of besideValues) {
    const secret = draft.at(...path, key);
    if (typeof secret === 'string' && referencedVariable(secret) === undefined && secret.length < shortestValue)
      faults.push([key, `.${key} has fewer than ${shortestValue} characters`, 'give a longer one']);
  }
  const variable = scheme === 'sigv4' ? draft.at(...path, 'env') : undefined;
  if (typeof variable === 'string' && !variable.endsWith(accessKeyVariable))
    faults.push([
      'env',
      `.env with scheme: sigv4 does not end with ${accessKeyVariable}`,
      'write env: AWS_ACCESS_KEY_ID, beside which svc sets the secret and the region',
    ]);
  return faults;
}

const nobody = 'names no entry of artifacts';

function subjectFault(draft: Draft, subject: string): string | null {
  if (subject === 'shell')
    return draft.list('capabilities', 'shell', 'allow').length > 0
      ? null
      : 'is shell, but capabilities.shell lists no command';
  const index = draft.list('artifacts').findIndex((_, at) => draft.at('artifacts', at, 'name') === subject);
  if (index === -1) return nobody;
  return draft.at('artifacts', index, 'runtime') === 'skill' ? 'names a skill, which runs nothing' : null;
}

/** A variable with a placeholder is set once, and no entry of artifacts sets the key itself. */
function checkVariables(draft: Draft, names: readonly string[], findings: Findings): void {
  const seen = new Set<unknown>();
  for (const name of names) {
    const path = [...held, name, 'env'];
    const variable = draft.at(...path);
    const isSigned = draft.at(...held, name, 'scheme') === 'sigv4';
    const set = typeof variable !== 'string' ? [] : isSigned ? signingVariables(variable) : [variable];
    if (set.some((each) => seen.has(each)))
      findings.add('E-CAP-030', `${renderKeyPath(path)} is the variable of another credential`, {
        path,
        hint: 'name another',
      });
    for (const each of set) seen.add(each);
  }
  const values = names
    .flatMap((name) => ['value', ...besideValues].map((key) => draft.at(...held, name, key)))
    .filter((value) => typeof value === 'string');
  draft.list('artifacts').forEach((_, index) => {
    const set = draft.at('artifacts', index, 'env');
    for (const [variable, value] of Object.entries(set ?? {})) {
      if (typeof value !== 'string' || !values.some((key) => key !== '' && value.includes(key))) continue;
      const path = ['artifacts', index, 'env', variable];
      const message = `${renderKeyPath(path)} would give a program the key of a credential`;
      findings.add('E-CAP-030', message, {
        path,
        hint: 'remove it: env of the credential names the variable of its placeholder',
      });
    }
  });
}
