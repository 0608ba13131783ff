/**
 * Gives components `TextEncoder` and `TextDecoder`, which their engine does not have. A loop over bytes costs such an interpreter close to a
 * second a megabyte; base64 and the URI functions run natively there, so both directions go through them.
 */

interface Base64Bytes {
  toBase64(): string;
}
interface Base64Constructor {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

const wellFormed =
  '[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|\\xed[\\x80-\\x9f][\\x80-\\xbf]|' +
  '\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}';
const cutOff =
  '\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f]|\\xf0[\\x90-\\xbf][\\x80-\\xbf]?|' +
  '[\\xf1-\\xf3][\\x80-\\xbf]{1,2}|\\xf4[\\x80-\\x8f][\\x80-\\xbf]?|[\\xc2-\\xf4]';
const sequences = new RegExp(`(${wellFormed})|${cutOff}|[\\x80-\\xff]`, 'g');
const unfinished = new RegExp(`(?:${cutOff})$`);

/** The part of the standard `TextEncoder` that guests use. */
export class TextEncoder {
  encode(text = ''): Uint8Array<ArrayBuffer> {
    const bytes = /[\u0080-\uffff]/.test(text) ? utf8Of(text) : text;
    return (Uint8Array as unknown as Base64Constructor).fromBase64(btoa(bytes));
  }
}

/** UTF-8, a character for each byte. */
function utf8Of(text: string): string {
  try {
    return unescape(encodeURIComponent(text));
  } catch (error) {
    // Half of a surrogate pair.
    if (error instanceof URIError) return utf8Of(text.replace(/\p{Cs}/gu, '\ufffd'));
    throw error;
  }
}

/** The part of the standard `TextDecoder` that guests use: UTF-8, replacement or `fatal`, whole or in pieces. */
export class TextDecoder {
  readonly #fatal: boolean;
  readonly #keepsMark: boolean;
  #held = '';
  #started = false;

  constructor(_label = 'utf-8', options: { readonly fatal?: boolean; readonly ignoreBOM?: boolean } = {}) {
    this.#fatal = options.fatal ?? false;
    this.#keepsMark = options.ignoreBOM ?? false;
  }

  decode(bytes?: Uint8Array, options: { readonly stream?: boolean } = {}): string {
    let encoded = this.#held + (bytes === undefined ? '' : atob((bytes as unknown as Base64Bytes).toBase64()));
    this.#held = '';
    if (options.stream === true) {
      this.#held = unfinished.exec(encoded.slice(-3))?.[0] ?? '';
      encoded = encoded.slice(0, encoded.length - this.#held.length);
    }
    const text = this.#withoutMark(/[\u0080-\u00ff]/.test(encoded) ? this.#read(encoded) : encoded);
    if (options.stream !== true) this.#started = false;
    return text;
  }

  #read(encoded: string): string {
    try {
      return decodeURIComponent(escape(encoded));
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
      if (this.#fatal) throw new TypeError('the bytes are not UTF-8', { cause: error });
      return encoded.replace(sequences, (_, whole: string | undefined) =>
        whole === undefined ? '\ufffd' : decodeURIComponent(escape(whole)),
      );
    }
  }

  #withoutMark(text: string): string {
    if (this.#keepsMark || this.#started || text === '') return text;
    this.#started = true;
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }
}
