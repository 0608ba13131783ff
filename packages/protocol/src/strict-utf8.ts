/** Decodes UTF-8 of others, as bytes or percent-encoded, and says when it is not UTF-8 instead of replacing what cannot be read. */

type Decoder = InstanceType<typeof TextDecoder>;

let decoder: Decoder | null = null;

/** The text of UTF-8 bytes, a byte order mark included; null for any other bytes. */
export function decodeStrictUtf8(bytes: Uint8Array): string | null {
  decoder ??= strictDecoder();
  return textOf(decoder, bytes, false);
}

/** The same without the byte order mark that the text may begin with. */
export function decodeMarkedUtf8(bytes: Uint8Array): string | null {
  return decodeStrictUtf8(bytes)?.replace(/^\ufeff/, '') ?? null;
}

/** Percent-encoded text, decoded once; null for a `%` that begins no escape, and for escapes of bytes that are not UTF-8. */
export function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** The text of UTF-8 bytes that come in pieces, cut anywhere; each gives its text, null where the bytes are no UTF-8. */
export function strictUtf8Pieces(): (piece: Uint8Array, isLast: boolean) => string | null {
  const own = strictDecoder();
  return (piece, isLast) => textOf(own, piece, !isLast);
}

function strictDecoder(): Decoder {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
}

function textOf(own: Decoder, bytes: Uint8Array, stream: boolean): string | null {
  try {
    return own.decode(bytes, { stream });
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
