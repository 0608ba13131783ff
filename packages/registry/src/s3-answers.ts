/** Reads the answers of an S3 service, and words why a request to it failed. */

import type { S3Client } from './s3-client.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';

/** One page of a listing (`ListObjectsV2`). */
interface ListedPage {
  readonly objects: readonly ListedObject[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

interface ListedObject {
  readonly name: string;
  /** When it was changed, by the clock of the service. */
  readonly changedMs: number;
}

/** The code of a refusal, such as `AccessDenied`; null when the answer has none. */
export function parseErrorCode(xml: string): string | null {
  const start = xml.indexOf('<Error>');
  return start < 0 ? null : (/<Code>([0-9A-Za-z.]{1,64})<\/Code>/.exec(xml.slice(start))?.[1] ?? null);
}

/** Returns null for a text that is no page, or only the beginning of one. */
export function parseListedPage(xml: string): ListedPage | null {
  if (!/<ListBucketResult[\s>]/.test(xml) || !/<\/ListBucketResult>\s*$/.test(xml)) return null;
  const objects: ListedObject[] = [];
  // Split, as a regular expression would look for each end through all the rest of a page that has none.
  for (const piece of xml.split('<Contents>').slice(1)) {
    const [entry = '', rest] = piece.split('</Contents>', 2);
    if (rest === undefined) return null;
    const name = elementText(entry, 'Key');
    const changedMs = Date.parse(elementText(entry, 'LastModified') ?? '');
    if (name === null || Number.isNaN(changedMs)) return null;
    objects.push({ name, changedMs });
  }
  if (elementText(xml, 'IsTruncated') !== 'true') return { objects, next: null };
  const next = elementText(xml, 'NextContinuationToken');
  return next === null || next === '' ? null : { objects, next };
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The text of the first element of this name without children; null when there is no such element. */
function elementText(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  if (text === undefined) return null;
  return text.replaceAll(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(\w{2,4}));/gi, (whole, decimal, hex, named) => {
    if (typeof named === 'string') return entities[named] ?? whole;
    return String.fromCodePoint(typeof decimal === 'string' ? Number(decimal) : Number.parseInt(String(hex), 16));
  });
}

interface Listed {
  readonly objects: readonly ListedObject[];
  /** When the service answered, by its own clock; null when it did not say. */
  readonly answeredMs: number | null;
}

/** Ten million objects; a service that pages on after that goes in circles. */
const mostPages = 10_000;

/** All objects whose names begin with `prefix`, page by page. */
export async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<Listed, void, undefined> {
  const attempt = `list ${prefix}`;
  let next: string | null = null;
  const asked = new Set<string>();
  while (asked.size < mostPages) {
    const from: Record<string, string> = next === null ? {} : { 'continuation-token': next };
    const query = { 'list-type': '2', prefix, ...from };
    const { content, headers } = await client.ask({ attempt, method: 'GET', query, expected: [200] });
    const listed = parseListedPage(content);
    if (listed === null) throw notAnswering(attempt, 'the answer is not a listing, or only a part of one');
    const answeredMs = Date.parse(headers.date ?? '');
    yield { objects: listed.objects, answeredMs: Number.isNaN(answeredMs) ? null : answeredMs };
    if (listed.next === null) return;
    next = listed.next;
    const token = sha256Hex(next);
    if (asked.has(token)) break;
    asked.add(token);
  }
  throw notAnswering(attempt, 'the pages of the listing do not end');
}

/** A refusal as it came over the wire. */
export interface S3Refusal {
  readonly status: number;
  /** Null when the answer said none. */
  readonly code: string | null;
  /** How far this machine's clock is ahead of the service's; null when that is not known. */
  readonly aheadMs: number | null;
  /** The region that the service names. */
  readonly region: string | null;
}

/** An answer that did not come, or not to its end. */
export class Unanswered extends Error {
  readonly code = 'ERR_S3_UNANSWERED';
}

const passingStatuses = new Set([409, 429, 500, 502, 503, 504]);
const passingCodes = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable']);

/** Whether the same request may well succeed a moment later. */
export function isPassing({ status, code }: Pick<S3Refusal, 'status' | 'code'>): boolean {
  return passingStatuses.has(status) || (code !== null && passingCodes.has(code));
}

/** `E-REG-025`, after all attempts. */
export function notAnswering(attempt: string, reason: string, cause?: unknown): Diagnostic {
  return new Diagnostic('E-REG-025', `cannot ${attempt}: ${reason}`, cause === undefined ? {} : { cause });
}

/** What kept an answer from coming, as a clause. Returns null for an error that is not of the network: it is a bug. */
export function unansweredReason(error: unknown): string | null {
  if (error instanceof Unanswered) return error.message;
  return isNetworkError(error) ? networkReason(error) : null;
}

/** Returns E-REG-024 for a refusal that a retry cannot fix, worded for the operator. */
export function refused(attempt: string, refusal: S3Refusal): Diagnostic {
  const { reason, hint } = explain(refusal);
  return new Diagnostic('E-REG-024', `cannot ${attempt}: ${reason}`, { hint });
}

const credentialHint =
  'check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, with temporary credentials, AWS_SESSION_TOKEN';
const addressHint = 'check the bucket, S3_ENDPOINT and AWS_REGION';

function explain({ status, code, aheadMs, region }: S3Refusal): { readonly reason: string; readonly hint: string } {
  switch (code) {
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return { reason: `the clock of this machine ${skewText(aheadMs)} (${code})`, hint: 'set the clock, best by NTP' };
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
    case 'ExpiredToken':
    case 'InvalidToken':
    case 'TokenRefreshRequired':
      return { reason: `the credentials are not accepted (${code})`, hint: credentialHint };
    case 'NoSuchBucket':
      return { reason: 'there is no such bucket', hint: addressHint };
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return {
        reason: `the bucket is elsewhere (${code})`,
        hint: region === null ? addressHint : `set AWS_REGION to ${region}`,
      };
    default:
      return {
        reason: `the service answered ${status}${code === null ? '' : ` ${code}`}`,
        hint: status === 403 ? 'docs/registry.md lists the permissions that are needed' : addressHint,
      };
  }
}

function skewText(aheadMs: number | null): string {
  if (aheadMs === null || Math.abs(aheadMs) < 60_000) return 'differs from that of the service';
  return `is ${Math.round(Math.abs(aheadMs) / 60_000)} minutes ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the service`;
}
