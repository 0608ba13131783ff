/** Knows the spellings in which a server may repeat a key, and finds where one may begin at the end of bytes. */

/** When a longer text contains the secret, some characters of its base64 come from the secret alone. Returns those, for each of the three places at which the secret can begin. */
export function base64PartsOf(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const part = whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return [part, part.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Finds the beginning of one spelling at the end of bytes. It looks at each byte about twice, however often a text repeats itself. */
export class Beginning {
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
