/** The tokens that the referee hands out: credentials of sessions and approvals of launches. */

import { hash, timingSafeEqual } from 'node:crypto';

/** What an approval says: who granted it, which artifact to, and what the child may do (D2 "Tokens"). */
export interface Approval {
  /** The number of this approval alone. */
  readonly serial: number;
  /** The session that granted it. */
  readonly parent: number;
  /** Levels of delegation that the child may use. */
  readonly depthRemaining: number;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** On the referee's own clock, which only rises. */
  readonly expiresAt: number;
}

const serialBytes = 6;
const keyBytes = 32;

/**
 * Mints credentials and approvals and knows its own again. The keys are drawn here and never leave: what another run of the program
 * minted does not verify (D2 "Tokens").
 */
export class Tokens {
  readonly #credentials: MacKey;
  readonly #approvals: MacKey;

  constructor(randomBytes: (size: number) => Uint8Array) {
    this.#credentials = new MacKey('msc1.', randomBytes(keyBytes));
    this.#approvals = new MacKey('msa1.', randomBytes(keyBytes));
  }

  /** `session` is the serial of its record: an id is a text of the caller's choice. */
  mintCredential(session: number): string {
    // Taken from the pool, and written whole.
    const payload = Buffer.allocUnsafe(serialBytes);
    payload.writeUIntBE(session, 0, serialBytes);
    return this.#credentials.seal(payload);
  }

  /** The session a credential names; null when this referee did not issue it. */
  verifyCredential(text: string): number | null {
    const payload = this.#credentials.open(text);
    return payload === null ? null : payload.readUIntBE(0, serialBytes);
  }

  mintApproval({ serial, parent, depthRemaining, name, version, sha256, expiresAt }: Approval): string {
    const fields: ApprovalFields = [serial, parent, depthRemaining, name, version, sha256, expiresAt];
    return this.#approvals.seal(Buffer.from(JSON.stringify(fields)));
  }

  /** What an approval says; null when this referee did not issue it. Whether it still holds is for the records to say. */
  verifyApproval(text: string): Approval | null {
    const payload = this.#approvals.open(text);
    if (payload === null) return null;
    // Its MAC says that these are bytes of `mintApproval`.
    const fields = JSON.parse(payload.toString()) as ApprovalFields;
    const [serial, parent, depthRemaining, name, version, sha256, expiresAt] = fields;
    return { serial, parent, depthRemaining, name, version, sha256, expiresAt };
  }
}

type ApprovalFields = [number, number, number, string, string, string, number];

const blockBytes = 64;
const digestBytes = 32;
/** The length of an HMAC-SHA-256 in base64url. */
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
