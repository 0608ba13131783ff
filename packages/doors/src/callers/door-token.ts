/** What a door token is: a name, what it may do and until when. The token itself is kept nowhere, its hash is. */

import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import { isListOf, isObjectOf, isOneOf, isText, isWhole, orNull } from '@svc/kit/guards.ts';
import { sha256Hex, sha256Shape } from '@svc/kit/sha256.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { type Scope, scopes } from './scopes.ts';

/** How every token begins, so that it is known for what it is wherever it turns up. */
export const tokenPrefix = 'svc_door_';
const tokenBytes = 32;

/** Limit for all tokens of a user. Each request that shows one is compared with all of them. */
export const maxTokens = 100;
const maxName = 64;
const namePattern = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;

/** One token as its file has it. Times are Unix milliseconds. */
export interface DoorToken {
  readonly name: string;
  /** Hash of the token as it is sent, in hex. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** The only capsule that takes it; null for all of the user's. */
  readonly capsule: string | null;
  readonly created_at_ms: number;
  readonly expires_at_ms: number;
}

/** A name that says itself in a trace, a table and a file: 1 to 64 of `a-z 0-9 . _ -`, with a letter or a digit at both ends. */
export function isTokenName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxName && namePattern.test(value);
}

/** 256 random bits behind the prefix, as base64url. */
export function mintToken(source: { randomBytes(size: number): Uint8Array }): string {
  return `${tokenPrefix}${Buffer.from(source.randomBytes(tokenBytes)).toString('base64url')}`;
}

/** Random tokens need no slow hash: there is nothing to guess. */
export function hashOfToken(token: string): string {
  return sha256Hex(token);
}

const isEntry = isObjectOf({
  name: isTokenName,
  sha256: (value: unknown): value is string => isText(value) && sha256Shape.test(value),
  scopes: isListOf(isOneOf(...scopes)),
  capsule: orNull(isArtifactName),
  created_at_ms: isWhole,
  expires_at_ms: isWhole,
});
const isTokenList = isObjectOf({ version: (value: unknown): value is 1 => value === 1, tokens: isListOf(isEntry) });

/** The tokens that a file holds, or a clause that says what is wrong with it. */
export function parseTokens(text: string): readonly DoorToken[] | string {
  const value = parseJson(text);
  if (value === undefined) return 'is not JSON';
  if (!isTokenList(value)) return 'is no list of door tokens of this version';
  const { tokens } = value;
  if (tokens.length > maxTokens) return `holds more than ${maxTokens} tokens`;
  if (tokens.some((token) => token.scopes.length === 0)) return 'holds a token without a scope';
  const isEachOnce = [tokens.map(({ name }) => name), tokens.map(({ sha256 }) => sha256)].every(
    (values) => new Set(values).size === values.length,
  );
  return isEachOnce ? tokens : 'holds a token twice';
}

export function encodeTokens(tokens: readonly DoorToken[]): string {
  return `${JSON.stringify({ version: 1, tokens }, null, 2)}\n`;
}
