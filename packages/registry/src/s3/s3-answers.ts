/** Reads the answers of an S3 service, and words why a request to it failed. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';

/** The code of a refusal, such as `AccessDenied`; null when the answer has none. */
export function parseErrorCode(xml: string): string | null {
  const start = xml.indexOf('<Error>');
  return start < 0 ? null : (/<Code>([0-9A-Za-z.]{1,64})<\/Code>/.exec(xml.slice(start))?.[1] ?? null);
}

/** A refusal as it came over the wire. */
export interface S3Refusal {
  readonly status: number;
  /** Is null when the answer named no code. */
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
