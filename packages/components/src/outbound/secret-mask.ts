/** Hides the provider's key in what an endpoint answers: the endpoint may repeat the key, and the component that asked must not learn it. */

import { base64PartsOf, Beginning } from '@svc/kit/keys/spelled-key.ts';

/** A shorter key is not masked: it is no real secret, but a word that an answer may contain for other reasons (`ollama`). */
const shortestMasked = 16;
/** A shorter spelling of the key, or of a part of it in base64, is not looked for. */
const shortestPart = 8;
const star = 0x2a;

/** The spellings of a secret in which an endpoint is likely to repeat it: as it is, in JSON, in a URL, in hexadecimal, in base64. */
function spellingsOf(secret: string): readonly Buffer[] {
  const bytes = Buffer.from(secret, 'latin1');
  const hex = bytes.toString('hex');
  const texts = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), hex, hex.toUpperCase()];
  const spellings = [...texts, ...base64PartsOf(bytes)].filter((text) => text.length >= shortestPart);
  return [...new Set(spellings.flatMap((text) => [text, Buffer.from(text).toString('latin1')]))].map((text) =>
    Buffer.from(text, 'latin1'),
  );
}

/** Replaces each byte of a secret by a star, in bytes that come in pieces. A secret may be cut anywhere between two pieces. */
export class SecretMask {
  readonly #spellings: readonly Buffer[];
  readonly #beginnings: readonly Beginning[];
  #tail: Buffer = Buffer.alloc(0);

  constructor(secret: string) {
    this.#spellings = secret.length < shortestMasked ? [] : spellingsOf(secret);
    this.#beginnings = this.#spellings.map((spelling) => new Beginning(spelling));
  }

  /** Returns the bytes that can be given out now. It keeps an end that may be the beginning of the secret until more bytes come. */
  next(piece: Uint8Array): Buffer {
    const bytes = this.whole(Buffer.concat([this.#tail, piece]));
    const kept = this.#openEnd(bytes);
    this.#tail = bytes.subarray(bytes.length - kept);
    return bytes.subarray(0, bytes.length - kept);
  }

  /** Returns the bytes that `next` has kept. The caller calls it when nothing more comes. */
  rest(): Buffer {
    const rest = this.#tail;
    this.#tail = Buffer.alloc(0);
    return rest;
  }

  /** Masks bytes that come in one piece, in place. */
  whole(bytes: Buffer): Buffer {
    for (const spelling of this.#spellings) {
      for (let at = bytes.indexOf(spelling); at !== -1; at = bytes.indexOf(spelling, at + spelling.length)) {
        bytes.fill(star, at, at + spelling.length);
      }
    }
    return bytes;
  }

  #openEnd(bytes: Buffer): number {
    return Math.max(0, ...this.#beginnings.map((beginning) => beginning.lengthAtEndOf(bytes)));
  }
}

/** Looks for one text in bytes that come in pieces. The text may be cut anywhere between two pieces. */
export class TextWatch {
  readonly #text: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(text: string) {
    this.#text = Buffer.from(text);
  }

  /** Whether the text ends somewhere in this piece. */
  sees(piece: Uint8Array): boolean {
    const joined = Buffer.concat([this.#tail, piece]);
    this.#tail = this.#text.length === 1 ? Buffer.alloc(0) : joined.subarray(1 - this.#text.length);
    return joined.includes(this.#text);
  }
}
