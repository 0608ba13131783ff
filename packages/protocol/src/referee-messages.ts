/** What capsules and the referee say to each other (D2 "Endpoints"). Unknown keys are ignored on both sides. */

import { asJsonObject, isCount, isFiniteNumber, oneOf } from './json-object.ts';

/** Shows who asks, at `/spawn` and `/deregister`. */
export const credentialHeader = 'x-svc-spawn-credential';
/** Shows at `/register` that the launch was granted. */
export const approvalHeader = 'x-svc-spawn-approval';

/** Which capsule, by its exact version. */
export interface SpawnRequest {
  readonly name: string;
  readonly version: string;
}

export interface RegisterRequest extends SpawnRequest {
  /** 1 to 256 characters: it is kept for as long as the referee runs. */
  readonly sessionId: string;
}

export const maxSessionId = 256;

const outcomes = ['complete', 'failed'] as const;

export interface DeregisterRequest {
  readonly outcome: (typeof outcomes)[number];
  /** The id of a child to end instead of the asker. */
  readonly child: string | undefined;
}

export function encodeSpawnRequest({ name, version }: SpawnRequest): string {
  return JSON.stringify({ name, version });
}

export function decodeSpawnRequest(body: unknown): SpawnRequest | null {
  const { name, version } = asJsonObject(body) ?? {};
  return typeof name === 'string' && typeof version === 'string' ? { name, version } : null;
}

export function encodeRegisterRequest({ sessionId, name, version }: RegisterRequest): string {
  return JSON.stringify({ session_id: sessionId, name, version });
}

export function decodeRegisterRequest(body: unknown): RegisterRequest | null {
  const artifact = decodeSpawnRequest(body);
  const sessionId = asJsonObject(body)?.['session_id'];
  if (artifact === null || typeof sessionId !== 'string') return null;
  return sessionId !== '' && sessionId.length <= maxSessionId ? { sessionId, ...artifact } : null;
}

export function encodeDeregisterRequest({ outcome, child }: DeregisterRequest): string {
  return JSON.stringify({ outcome, child });
}

export function decodeDeregisterRequest(body: unknown): DeregisterRequest | null {
  const { outcome: named, child } = asJsonObject(body) ?? {};
  const outcome = oneOf(named, outcomes);
  return outcome !== null && (child === undefined || typeof child === 'string') ? { outcome, child } : null;
}

/** What `/spawn` answers. */
export interface Grant {
  /** For the standard input of the child and nothing else. */
  readonly approval: string;
  readonly name: string;
  readonly version: string;
  /** Content hash of the artifact that was compared. */
  readonly sha256: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export function encodeGrant({ approval, name, version, sha256, expiresAtMs }: Grant): unknown {
  return { approval, name, version, sha256, expires_at_ms: expiresAtMs };
}

/** In characters, as in bytes. */
export const maxToken: number = 16 * 1024;

/** Whether a text can be a credential or an approval: it goes into a header, and stands among other lines of a child's standard input. */
export function isRefereeToken(text: unknown): text is string {
  return typeof text === 'string' && text.length <= maxToken && /^[\x21-\x7e]+$/.test(text);
}

/** `expiresAtMs` is null where it is no finite number: who asks redeems the approval at once. */
export function decodeGrant(
  body: unknown,
): (Omit<Grant, 'expiresAtMs'> & { readonly expiresAtMs: number | null }) | null {
  const { approval, sha256, expires_at_ms: expiresAtMs } = asJsonObject(body) ?? {};
  const artifact = decodeSpawnRequest(body);
  if (artifact === null || !isRefereeToken(approval) || typeof sha256 !== 'string') return null;
  return { approval, ...artifact, sha256, expiresAtMs: isFiniteNumber(expiresAtMs) ? expiresAtMs : null };
}

/** What `/register` answers. */
export function encodeCredential(credential: string): unknown {
  return { credential };
}

export function decodeCredential(body: unknown): string | null {
  const { credential } = asJsonObject(body) ?? {};
  return isRefereeToken(credential) ? credential : null;
}

const statuses = ['running', ...outcomes] as const;

/** What `/status/<session id>` answers. */
export interface SessionReport {
  readonly status: (typeof statuses)[number];
  readonly depthRemaining: number;
  readonly liveChildren: number;
  readonly liveCapsules: number;
}

export function encodeSessionReport({ status, depthRemaining, liveChildren, liveCapsules }: SessionReport): unknown {
  return { status, depth_remaining: depthRemaining, live_children: liveChildren, live_capsules: liveCapsules };
}

export function decodeSessionReport(body: unknown): SessionReport | null {
  const fields = asJsonObject(body);
  const status = oneOf(fields?.['status'], statuses);
  const { depth_remaining: depthRemaining, live_children: liveChildren, live_capsules: liveCapsules } = fields ?? {};
  if (status === null || !isCount(depthRemaining) || !isCount(liveChildren) || !isCount(liveCapsules)) return null;
  return { status, depthRemaining, liveChildren, liveCapsules };
}
