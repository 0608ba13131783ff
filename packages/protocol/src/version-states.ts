/** What a registry says of the versions of an artifact beside their bytes: their states, and what was published when by whom. */

import { asJsonObject, isCount, isJsonObject, isPair, maxList, oneOf, parseJson } from './json-object.ts';
import { parseJsonText } from './json-text.ts';
import {
  artifactsPath,
  decodeSha256,
  type Packaging,
  packagings,
  type Role,
  roles,
  type VersionState,
  versionStates,
} from './registry-messages.ts';

/** The state of what a download brings, where it is not active. */
export const stateHeader = 'x-svc-state';

export const maxReason = 500;

/** Whether a text can be the reason of a state: 1 to 500 characters, none of them a control character. */
export function isReason(text: unknown): text is string {
  return typeof text === 'string' && text.length > 0 && text.length <= maxReason && !/\p{Cc}/u.test(text);
}

/** The state of a version with the reason that was given for it; null where none was. */
export interface StateOfVersion {
  readonly state: VersionState;
  readonly reason: string | null;
}

/** One publish of a version: the generic file, or the variant for some platforms. */
export interface PublishedArchive {
  /** Pairs of system and architecture; empty for the generic file. */
  readonly platforms: readonly (readonly [string, string])[];
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
  /** ISO 8601; null where the registry does not know. */
  readonly published_at: string | null;
  /** The id of the key; null where the registry does not know. */
  readonly published_by: string | null;
  /** How many signatures the registry keeps of it, which it has not verified; null where it does not say. */
  readonly signatures: number | null;
}

/** One version, as `GET /v1/artifacts/<name>` has it. */
export interface PublishedVersion extends StateOfVersion {
  readonly version: string;
  readonly runtime: Packaging;
  readonly artifact_runtime: Role;
  readonly description: string | null;
  readonly archives: readonly PublishedArchive[];
}

/** The path of all versions of an artifact. */
export function encodeVersionsTarget(name: string): string {
  return `${artifactsPath}/${encodeURIComponent(name)}`;
}

/** The path of the state of a version. */
export function encodeStateTarget(name: string, version: string): string {
  return `${encodeVersionsTarget(name)}/${encodeURIComponent(version)}/state`;
}

export function encodeVersions(name: string, versions: readonly PublishedVersion[]): string {
  return JSON.stringify({ name, versions });
}

export type VersionsReading =
  | { readonly kind: 'versions'; readonly versions: readonly PublishedVersion[] }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unparsable'; readonly reason: string };

/** In a list of versions: each takes more than 16 bytes, in the 16 MiB that clients read. */
const maxVersionsValues = 2 ** 20;

/** The answer to `GET /v1/artifacts/<name>`, of bounded length. One version that is not as it should be makes the whole unparsable. */
export function decodeVersions(text: string, name: string): VersionsReading {
  const parsed = parseJsonText(text, maxVersionsValues);
  const value = parsed.kind === 'json' ? asJsonObject(parsed.value) : null;
  if (value === null) return { kind: 'unparsable', reason: 'it is not a JSON object, or holds too much' };
  if (value['name'] !== name) return { kind: 'unparsable', reason: 'it is about another artifact' };
  const list = value['versions'];
  if (!Array.isArray(list) || list.length > maxList) return { kind: 'unparsable', reason: 'it lists no versions' };
  const versions: PublishedVersion[] = [];
  for (const [index, each] of (list as unknown[]).entries()) {
    const version = publishedVersion(each);
    if (version === null) return { kind: 'unparsable', reason: `its version ${index} is not what it should be` };
    versions.push(version);
  }
  return { kind: 'versions', versions };
}

function publishedVersion(value: unknown): PublishedVersion | null {
  const { version, reason = null, description = null, archives: list, ...fields } = asJsonObject(value) ?? {};
  const state = oneOf(fields['state'], versionStates);
  const [runtime, role] = [oneOf(fields['runtime'], packagings), oneOf(fields['artifact_runtime'], roles)];
  if (typeof version !== 'string' || state === null || runtime === null || role === null) return null;
  if (reason !== null && !isReason(reason)) return null;
  if (description !== null && typeof description !== 'string') return null;
  if (!Array.isArray(list) || list.length === 0 || list.length > maxList) return null;
  const archives = (list as unknown[]).map(publishedArchive);
  if (!archives.every((archive) => archive !== null)) return null;
  return { version, state, reason, runtime, artifact_runtime: role, description, archives };
}

function publishedArchive(value: unknown): PublishedArchive | null {
  const { platforms: list, sha256: hash, size, ...told } = asJsonObject(value) ?? {};
  const { published_at = null, published_by = null, signatures = null } = told;
  const sha256 = typeof hash === 'string' ? decodeSha256(hash) : null;
  if (sha256 === null || !isCount(size) || !(signatures === null || isCount(signatures))) return null;
  if (!isTextOrNull(published_at) || !isTextOrNull(published_by)) return null;
  if (!Array.isArray(list) || list.length > maxList || !list.every(isPair)) return null;
  return { platforms: list, sha256, size, published_at, published_by, signatures };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

export function encodeStateChange({ state, reason }: StateOfVersion): string {
  return JSON.stringify(reason === null ? { state } : { state, reason });
}

export type StateChangeReading =
  | { readonly kind: 'change'; readonly change: StateOfVersion }
  /** `reason` is a sentence for the asker. */
  | { readonly kind: 'unusable'; readonly reason: string };

/** The body of a change of state. Every state but `active` has a reason; a key that is not known is refused. */
export function decodeStateChange(text: string): StateChangeReading {
  const value = parseJson(text);
  if (!isJsonObject(value)) return { kind: 'unusable', reason: 'The body is a JSON object with state and reason.' };
  const { state: named, reason = null, ...others } = value;
  const state = oneOf(named, versionStates);
  if (state === null) return { kind: 'unusable', reason: `state is one of ${versionStates.join(', ')}.` };
  if (Object.keys(others).length > 0) return { kind: 'unusable', reason: 'The keys here are state and reason.' };
  const isGiven = isReason(reason);
  if (!isGiven && (reason !== null || state !== 'active')) {
    return { kind: 'unusable', reason: `reason is 1 to ${maxReason} characters without control characters.` };
  }
  return { kind: 'change', change: { state, reason: isGiven ? reason : null } };
}

/** The answer to a change of state: which version is in which state now. */
export function encodeStateReceipt(name: string, version: string, change: StateOfVersion): string {
  return JSON.stringify({ name, version, ...change });
}

/** The state that such an answer says a version is in now; null for a text that says nothing of the kind of this version. */
export function decodeStateReceipt(text: string, name: string, version: string): VersionState | null {
  const value = asJsonObject(parseJson(text));
  return value?.['name'] === name && value['version'] === version ? oneOf(value['state'], versionStates) : null;
}
