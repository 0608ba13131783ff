/** Looks for a key in what a host answers, which is then cut: the component or program that asked must not learn it (docs/boundary.md "Answers"). */

import { base64PartsOf, Beginning } from './spelled-key.ts';

/** A beginning of the key at the very end of an answer counts as the key from this many bytes on, and from half of it. */
const telling = 6;

/**
 * Finds a key in bytes that come in pieces, as it is, in hexadecimal and in base64 at each of three alignments, each also where characters of
 * it are percent-encoded or escaped as in JSON. What may be its beginning is kept until more bytes come.
 */
export class KeyWatch {
  readonly #views: readonly View[];
  /** Bytes that may be the beginning of the key. */
  #kept: Buffer = Buffer.alloc(0);

  /** Each key has at least eight characters, one byte each. */
  constructor(...keys: readonly string[]) {
    const searched = [...new Set(keys)].flatMap(spellingsOf);
    this.#views = [asItIs, withoutPercent, withoutEscapes].map((decode) => new View(decode, searched));
  }

  /** Whether a text that comes in one piece has the key in it; one byte a character. */
  isIn(text: string): boolean {
    const bytes = Buffer.from(text, 'latin1');
    return this.#views.some((view) => view.look(bytes) === null);
  }

  /** The bytes that can be given out now; null when the key is in them: nothing more may be given out then. */
  next(piece: Uint8Array): Buffer | null {
    const bytes = this.#kept.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#kept, piece]);
    let safe = bytes.length;
    for (const view of this.#views) {
      const seen = view.look(bytes);
      if (seen === null) return null;
      safe = Math.min(safe, seen.safe);
    }
    this.#kept = bytes.subarray(safe);
    return bytes.subarray(0, safe);
  }

  /** The bytes that were kept, when the answer has ended; null when they are most of the key. */
  rest(): Buffer | null {
    const kept = this.#kept;
    this.#kept = Buffer.alloc(0);
    return this.#views.some((view) => view.look(kept)?.tells !== false) ? null : kept;
  }
}

function spellingsOf(key: string): readonly Buffer[] {
  const bytes = Buffer.from(key, 'latin1');
  const hex = bytes.toString('hex');
  const spellings = [...new Set([key, hex, hex.toUpperCase(), ...base64PartsOf(bytes)])];
  return spellings.map((text) => Buffer.from(text, 'latin1'));
}

interface Seen {
  /** Before this index nothing is a part of the key. */
  readonly safe: number;
  /** Whether the end is so long a beginning of the key that it gives the key away. */
  readonly tells: boolean;
}

/** One way to read bytes, and what is looked for in them then. */
class View {
  readonly #decode: Decode;
  readonly #searched: readonly Buffer[];
  readonly #beginnings: readonly Beginning[];

  constructor(decode: Decode, searched: readonly Buffer[]) {
    this.#decode = decode;
    this.#searched = searched;
    this.#beginnings = searched.map((spelling) => new Beginning(spelling));
  }

  /** Returns null when the key is in the bytes. */
  look(bytes: Buffer): Seen | null {
    const { plain, read } = this.#decode(bytes, Infinity);
    if (this.#searched.some((spelling) => plain.includes(spelling))) return null;
    let [open, tells] = [0, false];
    for (const [at, beginning] of this.#beginnings.entries()) {
      const length = beginning.lengthAtEndOf(plain);
      open = Math.max(open, length);
      tells ||= length >= Math.max(telling, (this.#searched[at]?.length ?? 0) / 2);
    }
    // What is an escape that has not come whole may be the next character of the key.
    return { safe: open === 0 ? read : this.#decode(bytes, plain.length - open).read, tells };
  }
}

/** The bytes that others stand for, `most` of them at most, and how many were read for that: an escape that is not there whole is left unread. */
type Decode = (bytes: Buffer, most: number) => { readonly plain: Buffer; readonly read: number };

function asItIs(bytes: Buffer, most: number): ReturnType<Decode> {
  const read = Math.min(bytes.length, most);
  return { plain: bytes.subarray(0, read), read };
}

const [percent, backslash, letterU, letterX] = [0x25, 0x5c, 0x75, 0x78];

function withoutPercent(bytes: Buffer, most: number): ReturnType<Decode> {
  return unescaped(bytes, most, percent, (at) => {
    const code = hexAt(bytes, at + 1, 2);
    return code === 'unread' ? code : code === null ? null : { code, length: 3 };
  });
}

/** Letters of an escape and what they stand for, as in JSON. */
const letters: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
);

function withoutEscapes(bytes: Buffer, most: number): ReturnType<Decode> {
  return unescaped(bytes, most, backslash, (at) => {
    const letter = bytes[at + 1];
    if (letter === undefined) return 'unread';
    const digits = letter === letterU ? 4 : letter === letterX ? 2 : 0;
    if (digits === 0) {
      const code = letters.get(letter);
      return code === undefined ? null : { code, length: 2 };
    }
    const code = hexAt(bytes, at + 2, digits);
    return code === 'unread' ? code : code === null || code > 0xff ? null : { code, length: 2 + digits };
  });
}

type Escape = { readonly code: number; readonly length: number } | 'unread' | null;

function unescaped(bytes: Buffer, most: number, mark: number, escapeAt: (at: number) => Escape): ReturnType<Decode> {
  if (!bytes.includes(mark)) return asItIs(bytes, most);
  const plain = Buffer.allocUnsafe(bytes.length);
  let [at, length] = [0, 0];
  while (at < bytes.length && length < most) {
    const escape = bytes[at] === mark ? escapeAt(at) : null;
    if (escape === 'unread') break;
    plain[length] = escape?.code ?? bytes[at] ?? 0;
    length += 1;
    at += escape?.length ?? 1;
  }
  return { plain: plain.subarray(0, length), read: at };
}

/** The number that so many hexadecimal digits are; null where others stand there, and `unread` where not all have come. */
function hexAt(bytes: Buffer, from: number, digits: number): number | 'unread' | null {
  const text = bytes.toString('latin1', from, from + digits);
  if (!/^[0-9A-Fa-f]*$/.test(text)) return null;
  return text.length < digits ? 'unread' : Number.parseInt(text, 16);
}
