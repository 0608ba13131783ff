/** How long text is where it is written as JSON: a control character of one byte takes six. */

const [quote, backslash, deleteCharacter] = [0x22, 0x5c, 0x7f];
const [lastOfTwoBytes, firstSurrogate, lastSurrogate] = [0x7ff, 0xd800, 0xdfff];
const maxPerUnit = 6;

/** The longest beginning of well-formed text that takes at most `maxBytes` as JSON in UTF-8, without its quotes; it cuts no character. */
export function fittingLength(text: string, maxBytes: number): number {
  if (text.length * maxPerUnit <= maxBytes) return text.length;
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const isSurrogate = code >= firstSurrogate && code <= lastSurrogate;
    bytes += isSurrogate ? 4 : bytesOf(code);
    if (bytes > maxBytes) return index;
    if (isSurrogate) index += 1;
  }
  return text.length;
}

function bytesOf(code: number): number {
  if (code < 0x20) return code >= 0x08 && code <= 0x0d && code !== 0x0b ? 2 : maxPerUnit;
  if (code === quote || code === backslash) return 2;
  if (code <= deleteCharacter) return 1;
  return code <= lastOfTwoBytes ? 2 : 3;
}
