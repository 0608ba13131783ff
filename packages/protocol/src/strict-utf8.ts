let decode: ((bytes: Uint8Array) => string) | null = null;

/** The text of UTF-8 bytes, a byte order mark included. Throws a TypeError for any others. */
export function decodeStrictUtf8(bytes: Uint8Array): string {
  decode ??= makeDecoder();
  return decode(bytes);
}

/** Not made with the module: making it takes half a millisecond of a start. */
function makeDecoder(): (bytes: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (bytes) => decoder.decode(bytes);
}

/** The text of UTF-8 bytes that come in pieces, cut anywhere; each gives its text, undefined where the bytes are no UTF-8. */
export function strictUtf8Pieces(): (piece: Uint8Array, isLast: boolean) => string | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (piece, isLast) => {
    try {
      return decoder.decode(piece, { stream: !isLast });
    } catch (error) {
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  };
}
