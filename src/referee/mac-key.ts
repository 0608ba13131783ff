import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';

const macBytes = 32;

/** A key that lives in memory alone, and the text it puts a prefix and an HMAC-SHA-256 to (D2 "Tokens"). */
export class MacKey {
  readonly #prefix: string;
  readonly #key: KeyObject;

  constructor(prefix: string, key: Uint8Array) {
    this.#prefix = prefix;
    this.#key = createSecretKey(key);
  }

  seal(payload: Buffer): string {
    return this.#prefix + Buffer.concat([this.#macOf(payload), payload]).toString('base64url');
  }

  /** The payload of a text that this key has sealed, in exactly the spelling it had; null for any other. */
  open(text: string): Buffer | null {
    if (!text.startsWith(this.#prefix)) return null;
    const encoded = text.slice(this.#prefix.length);
    const bytes = Buffer.from(encoded, 'base64url');
    // The decoder skips what is no base64url, so that many texts would stand for the same bytes.
    if (bytes.length <= macBytes || bytes.toString('base64url') !== encoded) return null;
    const payload = bytes.subarray(macBytes);
    return timingSafeEqual(bytes.subarray(0, macBytes), this.#macOf(payload)) ? payload : null;
  }

  #macOf(payload: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(payload).digest();
  }
}
