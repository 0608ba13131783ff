/** Handles by which one capsule lets another read a file. */

import { createHmac, timingSafeEqual } from 'node:crypto';

import { decodeStrictUtf8 } from './strict-utf8.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** What a handle says of itself, in the order in which it is minted (D3 "Peer handle"). Anybody can read it: it is not the secret. */
export interface PeerHandlePayload {
  readonly v: 1;
  /** The minting session's id: the instance, not the capsule. */
  readonly iss: string;
  /** Relative to `exports.peer_files.root`, canonical at the time of minting. */
  readonly p: string;
  /** Unix milliseconds. */
  readonly exp: number;
  /** 16 random bytes in lowercase hex. */
  readonly n: string;
}

/** What the MAC of a handle binds it to: one instance's key and one audience, which the token does not carry. */
export interface HandleBinding {
  readonly key: Uint8Array;
  /** `<name>@<host:port>`, lowercased. */
  readonly audience: string;
}

export interface MintedFacts extends HandleBinding {
  readonly issuer: string;
  readonly path: string;
  readonly expiresAtMs: number;
  /** 16 random bytes. */
  readonly nonce: Uint8Array;
}

/** A token of the right form whose MAC nobody has looked at: whatever it says may be made up. */
export interface ParsedPeerHandle {
  /** The payload as the token spells it, which is what the MAC is over. */
  readonly payloadText: string;
  /** An object whose `v` is 1; all else is as it came. */
  readonly payload: JsonObject;
  readonly macText: string;
}

const prefix = 'mh1';
const context = 'svc-peer-handle-v1';
const separator = '\u001f';

const base64url = /^[A-Za-z0-9_-]+$/;

/** The token `mh1.<payload>.<MAC>` (D3 "Peer handle", "Audience computation"). */
export function mintPeerHandle({ issuer, path, expiresAtMs, nonce, ...binding }: MintedFacts): string {
  const n = Buffer.from(nonce).toString('hex');
  const payload: PeerHandlePayload = { v: 1, iss: issuer, p: path, exp: expiresAtMs, n };
  const payloadText = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${prefix}.${payloadText}.${macOf(payloadText, binding)}`;
}

/**
 * A token as sent. Undefined when it has not three parts after `mh1`, its payload is no base64url of a JSON object, or `v` is not 1
 * (D3 "Errors", `malformed_handle`). Of the MAC nothing is asked: a wrong length or alphabet is a MAC that does not verify.
 */
export function parsePeerHandle(token: string): ParsedPeerHandle | undefined {
  const [version, payloadText = '', macText, ...more] = token.split('.', 4);
  if (version !== prefix || macText === undefined || more.length > 0) return undefined;
  const payload = readPayload(payloadText);
  return payload?.['v'] === 1 ? { payloadText, payload, macText } : undefined;
}

/**
 * The payload of a handle that was minted with this key for this audience; undefined for any other, and no difference between them shows
 * in the time it takes. Texts are compared, so a second spelling of the same MAC is not the MAC.
 */
export function verifyPeerHandle(handle: ParsedPeerHandle, binding: HandleBinding): PeerHandlePayload | undefined {
  const expected = Buffer.from(macOf(handle.payloadText, binding), 'latin1');
  const presented = Buffer.from(handle.macText, 'utf8');
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return undefined;
  return decodePayload(handle.payload);
}

function decodePayload({ v, iss, p, exp, n }: JsonObject): PeerHandlePayload | undefined {
  if (v !== 1 || typeof iss !== 'string' || typeof p !== 'string' || typeof n !== 'string') return undefined;
  return typeof exp === 'number' && Number.isSafeInteger(exp) ? { v, iss, p, exp, n } : undefined;
}

function macOf(payloadText: string, { key, audience }: HandleBinding): string {
  const input = [context, payloadText, audience].join(separator);
  return createHmac('sha256', key).update(input, 'utf8').digest('base64url');
}

function readPayload(text: string): JsonObject | undefined {
  // One character over a whole number of groups encodes nothing; the decoder would pass over it.
  if (!base64url.test(text) || text.length % 4 === 1) return undefined;
  try {
    const value: unknown = JSON.parse(decodeStrictUtf8(Buffer.from(text, 'base64url')) ?? '');
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    // Not UTF-8, or not JSON.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
