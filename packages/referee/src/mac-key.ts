/** Signs and checks with a key that never leaves the process. */

import { hash, timingSafeEqual } from 'node:crypto';

const blockBytes = 64;
const digestBytes = 32;
/** Of an HMAC-SHA-256 in base64url. */
const macLength = 43;
/** Far more than a token of the longest names has. */
const maxPayloadLength = 4096;

/**
 * A key that lives in memory alone. It seals a payload as a prefix, an HMAC-SHA-256 and the payload in base64url (D2 "Tokens").
 * The HMAC is made of two calls of `hash`: the object that `createHmac` makes for each costs as much as the rest of a decision.
 */
export class MacKey {
  readonly #prefix: string;
  /** One block of the key and a payload; the other block and the digest of that. */
  readonly #inner: Buffer = Buffer.alloc(blockBytes + maxPayloadLength);
  readonly #outer: Buffer = Buffer.alloc(blockBytes + digestBytes);
  readonly #presented: Buffer = Buffer.alloc(macLength);
  readonly #expected: Buffer = Buffer.alloc(macLength);

  /** `key` has at most 64 bytes. */
  constructor(prefix: string, key: Uint8Array) {
    this.#prefix = prefix;
    for (let index = 0; index < blockBytes; index += 1) {
      const byte = key[index] ?? 0;
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  seal(payload: Buffer): string {
    const encoded = payload.toString('base64url');
    if (encoded.length > maxPayloadLength) throw new Error('the payload is too long for a token');
    return `${this.#prefix}${this.#macOf(encoded)}${encoded}`;
  }

  /** The payload of a text that this key has sealed; null for any other. The same bytes spelt otherwise are another text. */
  open(text: string): Buffer | null {
    const start = this.#prefix.length + macLength;
    if (!text.startsWith(this.#prefix) || text.length - start > maxPayloadLength) return null;
    const encoded = text.slice(start);
    this.#expected.write(this.#macOf(encoded));
    // Fewer bytes than a MAC has would be compared with what the last text left behind.
    if (this.#presented.write(text.slice(this.#prefix.length, start)) !== macLength) return null;
    if (!timingSafeEqual(this.#presented, this.#expected)) return null;
    return Buffer.from(encoded, 'base64url');
  }

  #macOf(encoded: string): string {
    const bytes = this.#inner.write(encoded, blockBytes);
    // As text of one byte a character: a buffer of its own for each digest would keep the garbage collector busy.
    const digest = hash('sha256', this.#inner.subarray(0, blockBytes + bytes), 'binary');
    this.#outer.write(digest, blockBytes, 'latin1');
    return hash('sha256', this.#outer, 'base64url');
  }
}
