/** Cuts long text into the pieces that frames carry. */

/** Characters of one frame of a chunk; a driver or a tool may emit hundreds of megabytes at once. */
const maxChunk = 1024 * 1024;

/** The text of a chunk whole, nearly always; a longer one in pieces that cut no character. */
export function chunkPieces(text: string): readonly string[] {
  if (text.length <= maxChunk) return [text];
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = from + maxChunk;
    const isWithin = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && end < text.length;
    pieces.push(text.slice(from, isWithin ? end - 1 : end));
    from = isWithin ? end - 1 : end;
  }
  return pieces;
}
