/** Keeps the key from coming back to the component that may only use it: an endpoint may repeat what it was sent. */

/** A shorter one is a word that an answer may hold for other reasons (`ollama`), and no secret worth the name. */
const shortestMasked = 16;
/** For a spelling that is part of something longer. */
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

/** What of the base64 of something longer depends on the secret alone, wherever in it the secret begins. */
function base64PartsOf(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const part = whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return [part, part.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Covers a secret with stars in bytes that come in pieces, wherever they are cut; lengths stay as they are. */
export class SecretMask {
  readonly #spellings: readonly Buffer[];
  readonly #beginnings: readonly Beginning[];
  #tail: Buffer = Buffer.alloc(0);

  constructor(secret: string) {
    this.#spellings = secret.length < shortestMasked ? [] : spellingsOf(secret);
    this.#beginnings = this.#spellings.map((spelling) => new Beginning(spelling));
  }

  /** The bytes that can be given out now: an end that may be the beginning of the secret is kept until more has come. */
  next(piece: Uint8Array): Buffer {
    const bytes = this.whole(Buffer.concat([this.#tail, piece]));
    const kept = this.#openEnd(bytes);
    this.#tail = bytes.subarray(bytes.length - kept);
    return bytes.subarray(0, bytes.length - kept);
  }

  /** What was kept, once nothing more comes. */
  rest(): Buffer {
    const rest = this.#tail;
    this.#tail = Buffer.alloc(0);
    return rest;
  }

  /** Of bytes that come in one piece. May change them. */
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

/** The beginnings of one spelling that bytes may end with. It looks at each byte about twice, whatever the two repeat. */
class Beginning {
  readonly #spelling: Buffer;
  /** By length of a beginning less one, the next shorter beginning that it ends with. */
  readonly #shorter: Uint32Array;

  constructor(spelling: Buffer) {
    this.#spelling = spelling;
    this.#shorter = new Uint32Array(spelling.length);
    for (let at = 1, length = 0; at < spelling.length; at += 1) {
      length = this.#onward(length, spelling[at]);
      this.#shorter[at] = length;
    }
  }

  /** The length of the longest beginning of a spelling that ends `bytes`, which do not hold the whole. */
  lengthAtEndOf(bytes: Buffer): number {
    let length = 0;
    for (let at = Math.max(0, bytes.length - this.#spelling.length + 1); at < bytes.length; at += 1) {
      length = this.#onward(length, bytes[at]);
    }
    return length;
  }

  /** The longest beginning that ends with `byte`, where the one before it was of `length`. */
  #onward(length: number, byte: number | undefined): number {
    let known = length;
    while (known > 0 && this.#spelling[known] !== byte) known = this.#shorter[known - 1] ?? 0;
    return this.#spelling[known] === byte ? known + 1 : known;
  }
}

/** Looks for one text in bytes that come in pieces, wherever the pieces are cut. */
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
