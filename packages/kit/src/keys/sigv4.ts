/** Signs requests to services of Amazon and others like them (Signature Version 4, IAM User Guide "Create a signed AWS API request"). */

import { createHmac } from 'node:crypto';

import type { Secret } from '../diagnostics/secret.ts';
import { sha256Hex } from '../sha256.ts';
import type { AskedRequest, HeaderLine } from './bound-host.ts';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secret: Secret;
  /** Belongs to a key that expires; null for one that does not. */
  readonly sessionToken: Secret | null;
  /** `eu-west-1` */
  readonly region: string;
  /** `s3`, as the service names itself in signatures. */
  readonly service: string;
}

interface Signing {
  /** The SHA-256 of the body as hexadecimal text, or a word that S3 takes in its place. */
  readonly payload: string;
  readonly nowMs: number;
}

/** Services that read a path as the name of an object: it is decoded once, and never normalized. */
const objectServices: ReadonlySet<string> = new Set(['s3', 's3-outposts', 's3-object-lambda']);

export function namesObjects(service: string): boolean {
  return objectServices.has(service);
}

/** Headers whose change on the way would make it another request. A proxy may rewrite any other. */
const signed = /^(?:host|content-type|content-md5|if-match|if-none-match|x-amz-.*)$/;

/**
 * The lines to add to a request that goes out with exactly these headers, `host` among them, and this target, of which `ambiguity` says nothing. It has
 * no `authorization`, `x-amz-date` and `x-amz-security-token` of its own.
 */
export function signatureOf(key: SigningKey, sent: AskedRequest, { payload, nowMs }: Signing): readonly HeaderLine[] {
  const { region, service, sessionToken } = key;
  const time = new Date(nowMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
  const hasHash = sent.headers.some(([name]) => name.toLowerCase() === 'x-amz-content-sha256');
  const added: readonly HeaderLine[] = [
    ['x-amz-date', time],
    ...(namesObjects(service) && !hasHash ? [['x-amz-content-sha256', payload] as const] : []),
    ...(sessionToken === null ? [] : [['x-amz-security-token', sessionToken.reveal()] as const]),
  ];
  const lines = canonicalHeaders([...sent.headers, ...added]);
  const names = lines.map(([name]) => name).join(';');
  const [path = '', query = ''] = parted(sent.target);
  const request = [
    sent.method,
    canonicalPath(service, path),
    canonicalQuery(query),
    ...lines.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    payload,
  ].join('\n');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256Hex(Buffer.from(request, 'latin1'))].join('\n');
  const start: string | Buffer = `AWS4${key.secret.reveal()}`;
  const signature = hmac(scope.reduce<string | Buffer>(hmac, start), text).toString('hex');
  const credential = `Credential=${key.accessKeyId}/${scope.join('/')}`;
  return [
    ...added,
    ['authorization', `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`],
  ];
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Why a service could read another path or query than the one that is signed, as a clause; null where it cannot. */
export function ambiguity(service: string, target: string): string | null {
  const [path = '', query = ''] = parted(target);
  const segments = path.split('/').map(decoded);
  if (segments.includes(null) || canonicalPairs(query) === null) return 'has an encoding that is none of UTF-8';
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'has a segment of dots';
  if (!namesObjects(service)) return path.includes('//') ? 'has an empty segment' : null;
  if (segments.some((segment) => segment?.includes('/'))) return 'has an encoded /';
  return path.includes('+') ? 'has a + in its path, which is a space to some (write %2B or %20)' : null;
}

function parted(target: string): readonly string[] {
  const at = target.indexOf('?');
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

/** Returns null for what is not UTF-8, or no encoding. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Beside those of objects, services sign what stands on the wire, encoded once more. */
function canonicalPath(service: string, path: string): string {
  const plain = namesObjects(service) ? path.split('/').map((segment) => decoded(segment) ?? '') : path.split('/');
  return plain.map(encoded).join('/');
}

function canonicalQuery(query: string): string {
  return (canonicalPairs(query) ?? []).map((pair) => pair.join('=')).join('&');
}

function canonicalPairs(query: string): readonly (readonly [name: string, value: string])[] | null {
  const pairs: (readonly [string, string])[] = [];
  for (const parameter of query.split('&')) {
    if (parameter === '') continue;
    const [first = '', ...rest] = parameter.split('=');
    const [name, value] = [first, rest.join('=')].map((text) => decoded(text.replaceAll('+', '%20')));
    if (name == null || value == null) return null;
    pairs.push([encoded(name), encoded(value)]);
  }
  return pairs.sort(([oneName, one], [otherName, other]) => compare(oneName, otherName) || compare(one, other));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function canonicalHeaders(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  const values = new Map<string, string[]>();
  for (const [written, value] of headers) {
    const name = written.toLowerCase();
    // Only these count as blanks: the last byte of an encoded `à` is a space that does not break, to a text of one byte a character.
    const plain = value.replaceAll(/[ \t]+/g, ' ').replaceAll(/^ | $/g, '');
    if (signed.test(name)) values.set(name, [...(values.get(name) ?? []), plain]);
  }
  return [...values]
    .map(([name, each]) => [name, each.join(',')] as const)
    .sort(([one], [other]) => compare(one, other));
}
