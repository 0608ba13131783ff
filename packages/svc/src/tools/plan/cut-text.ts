export interface CutText {
  readonly text: string;
  readonly cut: boolean;
}

/** `text`, or as many of its characters from the start as fit into `maxBytes` of UTF-8. Holds on to nothing of a longer text. */
export function cutText(text: string, maxBytes: number): CutText {
  if (text.length * 3 <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes)) {
    return { text, cut: false };
  }
  // A code unit is at least one byte, so what is needed is in this slice; a copy, since a slice would keep the whole alive.
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return { text: bytes.toString('utf8', 0, end), cut: true };
}
