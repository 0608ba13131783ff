/** Hides the provider's key in what an endpoint answers: the endpoint may repeat the key, and the component that asked must not learn it. */

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

/** When a longer text contains the secret, some characters of its base64 come from the secret alone. Returns those, for each of the three places at which the secret can begin. */
function base64PartsOf(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const part = whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return [part, part.replaceAll('+', '-').replaceAll('/', '_')];
  });
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

/** Finds the beginning of one spelling at the end of bytes. It looks at each byte about twice, however often a text repeats itself. */
class Beginning {
  readonly #spelling: Buffer;
  /** The item at `length - 1` is for the beginning of that length: how long the next shorter beginning is that it ends with. */
  readonly #shorter: Uint32Array;

  constructor(spelling: Buffer) {
    this.#spelling = spelling;
    this.#shorter = new Uint32Array(spelling.length);
    for (let at = 1, length = 0; at < spelling.length; at += 1) {
      length = this.#onward(length, spelling[at]);
      this.#shorter[at] = length;
    }
  }

  /** Returns the length of the longest beginning of the spelling with which `bytes` end. `bytes` must not contain the whole spelling. */
  lengthAtEndOf(bytes: Buffer): number {
    let length = 0;
    for (let at = Math.max(0, bytes.length - this.#spelling.length + 1); at < bytes.length; at += 1) {
      length = this.#onward(length, bytes[at]);
    }
    return length;
  }

  /** Returns the length of the longest beginning that ends with `byte`, when the bytes before it end with a beginning of `length`. */
  #onward(length: number, byte: number | undefined): number {
    let known = length;
    while (known > 0 && this.#spelling[known] !== byte) known = this.#shorter[known - 1] ?? 0;
    return this.#spelling[known] === byte ? known + 1 : known;
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
