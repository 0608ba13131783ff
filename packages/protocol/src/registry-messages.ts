/** What the artifact registry and its clients say to each other (D3 "Registry"). */

import { asJsonObject, asStrings, isPair, maxList, oneOf } from './json-object.ts';
import { parseJsonText } from './json-text.ts';
import { decodePercent } from './strict-utf8.ts';

/** The index and publishing; a slash, a name and a version lead to an archive. */
export const artifactsPath = '/v1/artifacts';

/** The hash of the archive that an answer brings. */
export const sha256Header = 'x-svc-sha256';

/** 64 lowercase hex characters; null for any other text. */
export function decodeSha256(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f]{64}$/.test(text) ? text : null;
}

/** A slash and the hash of an archive lead to its signatures (docs/registry.md "Requests"). */
export const signaturesPath = '/v1/signatures';

/** For an archive everywhere: so many Sigstore bundles, none larger. */
export const signatureLimits = { maxBundles: 16, maxBundleBytes: 64 * 1024 } as const;

export function encodeSignaturesTarget(sha256: string): string {
  return `${signaturesPath}/${sha256}`;
}

/** The hash in the path of signatures; null for another path. */
export function decodeSignaturesPath(path: string): string | null {
  return path.startsWith(`${signaturesPath}/`) ? decodeSha256(path.slice(signaturesPath.length + 1)) : null;
}

/** How an artifact is packaged (D3 "Registry", publish query `runtime`). */
export const packagings = ['wasm', 'native', 'static'] as const;
export type Packaging = (typeof packagings)[number];

/** What an artifact is for: the index field `artifact_runtime`. */
export const roles = ['tool', 'hook', 'driver', 'skill'] as const;
export type Role = (typeof roles)[number];

/** What may become of a published version (docs/registry.md "States of a version"). */
export const versionStates = ['active', 'deprecated', 'yanked', 'blocked'] as const;
export type VersionState = (typeof versionStates)[number];

/** The path and query of an archive; null for `platform` asks for the generic file. */
export function encodeArchiveTarget(name: string, version: string, platform: string | null): string {
  const path = `${artifactsPath}/${encodeURIComponent(name)}/${encodeURIComponent(version)}`;
  return platform === null ? path : `${path}?platform=${encodeURIComponent(platform)}`;
}

/** The name and version in the path of an archive, decoded once and not looked at further; null for another path. */
export function decodeArchivePath(path: string): { readonly name: string; readonly version: string } | null {
  if (!path.startsWith(`${artifactsPath}/`)) return null;
  const [name, version, ...more] = path
    .slice(artifactsPath.length + 1)
    .split('/')
    .map(decodePercent);
  return typeof name === 'string' && typeof version === 'string' && more.length === 0 ? { name, version } : null;
}

/** What a publish says of the archive in its body. */
export interface PublishQuery {
  readonly name: string;
  readonly version: string;
  readonly runtime: string;
  /** None for the generic file. */
  readonly platforms: readonly string[];
}

/** Without a question mark. What a form would write for a space is nothing that a name or a version has; a plus sign is escaped. */
export function encodePublishQuery({ name, version, runtime, platforms }: PublishQuery): string {
  const query = new URLSearchParams({ name, version, runtime });
  for (const platform of platforms) query.append('platform', platform);
  return query.toString();
}

export type DecodedQuery =
  | { readonly kind: 'query'; readonly values: ReadonlyMap<string, readonly string[]> }
  | { readonly kind: 'malformed-escape' | 'unknown-parameter' };

/**
 * The parameters of a query, percent-decoded once; a plus sign is one, because versions have them and nothing has spaces. What is not
 * named in `known` is refused, since a misspelt `platform` would publish or fetch another file than was meant.
 */
export function decodeQuery(query: string, known: readonly string[]): DecodedQuery {
  const values = new Map<string, string[]>();
  for (const part of query.split('&').filter((piece) => piece !== '')) {
    const equals = part.indexOf('=');
    const name = decodePercent(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decodePercent(part.slice(equals + 1));
    if (name === null || value === null) return { kind: 'malformed-escape' };
    if (!known.includes(name)) return { kind: 'unknown-parameter' };
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return { kind: 'query', values };
}

/** What a publish is answered with. */
export function encodeReceipt(name: string, version: string, sha256: string): unknown {
  return { artifact_id: `${name}@${version}`, sha256 };
}

/** The hash that was stored, as the receipt spells it; null when it names none. */
export function decodeReceipt(body: unknown): string | null {
  const sha256 = asJsonObject(body)?.['sha256'];
  return typeof sha256 === 'string' ? sha256 : null;
}

/** One version in the index of a registry (D3 "Registry index object"). */
export interface IndexObject {
  readonly name: string;
  readonly version: string;
  readonly runtime: Packaging;
  readonly artifact_runtime: Role;
  /** Pairs of system and architecture. */
  readonly platforms: readonly (readonly [string, string])[];
  readonly description: string | null;
  readonly tags: readonly string[];
  /** Absent for an active version. */
  readonly state?: VersionState;
}

export function encodeIndex(objects: readonly IndexObject[]): string {
  return JSON.stringify(objects);
}

export type IndexReading =
  | { readonly kind: 'index'; readonly objects: readonly IndexObject[] }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unparsable'; readonly reason: string };

/** The longest index that clients read, in bytes. */
export const maxIndexBytes: number = 64 * 1024 * 1024;

/** In an index: a version has a dozen, and takes more than 16 bytes for each. */
const maxIndexValues = maxIndexBytes / 16;

/** The body of `GET /v1/artifacts`, of at most `maxIndexBytes`. One object that is not as D3 has it makes the whole unparsable. */
export function decodeIndex(text: string): IndexReading {
  const parsed = parseJsonText(text, maxIndexValues);
  if (parsed.kind === 'not-json') return { kind: 'unparsable', reason: 'it is not JSON' };
  if (parsed.kind !== 'json') return { kind: 'unparsable', reason: 'it holds too much' };
  const { value } = parsed;
  if (!Array.isArray(value)) return { kind: 'unparsable', reason: 'it is no list' };
  const objects: IndexObject[] = [];
  for (const [index, each] of value.entries()) {
    const object = indexObject(each);
    if (typeof object !== 'string') objects.push(object);
    else return { kind: 'unparsable', reason: `${index}${object} is missing, or not what it should be` };
  }
  return { kind: 'index', objects };
}

/** The way to what does not fit, behind a dot, in place of an object that does not. */
function indexObject(value: unknown): IndexObject | string {
  const fields = asJsonObject(value);
  if (fields === null) return '';
  const { name, version, description = null, platforms: pairs = [], tags: words = [] } = fields;
  const [runtime, role] = [oneOf(fields['runtime'], packagings), oneOf(fields['artifact_runtime'], roles)];
  if (typeof name !== 'string') return '.name';
  if (typeof version !== 'string') return '.version';
  if (runtime === null) return '.runtime';
  if (role === null) return '.artifact_runtime';
  if (!Array.isArray(pairs) || pairs.length > maxList) return '.platforms';
  const odd = pairs.findIndex((pair) => !isPair(pair));
  if (odd !== -1) return `.platforms.${odd}`;
  if (description !== null && typeof description !== 'string') return '.description';
  const tags = asStrings(words);
  if (tags === null) return '.tags';
  const platforms = pairs as (readonly [string, string])[];
  const object = { name, version, runtime, artifact_runtime: role, platforms, description, tags };
  // A field beyond D3's, which other registries may use otherwise.
  const state = oneOf(fields['state'], versionStates);
  return state === null || state === 'active' ? object : { ...object, state };
}
