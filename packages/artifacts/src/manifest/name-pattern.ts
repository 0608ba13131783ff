/** Compares texts with patterns in which `*` stands for any characters, or for any except a slash. */

/**
 * Whether the pattern matches the whole text. `*` stands for any number of characters, none of them a slash; everything else stands for itself. Takes time
 * in proportion to the product of both lengths at most, whatever they hold.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  // No star reaches across a slash, so each part between slashes is compared by itself.
  const patterns = pattern.split('/');
  const texts = text.split('/');
  return patterns.length === texts.length && patterns.every((part, index) => matchesText(part, texts[index] ?? ''));
}

/** The same, where `*` stands for slashes too. */
export function matchesText(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  if (others.length === 0) return text === pattern;
  const last = others.pop() ?? '';
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  // The earliest place of each piece leaves the most room for those behind it.
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
