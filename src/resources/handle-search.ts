/** Where a text holds what reads as a peer handle. */
export interface FoundHandle {
  readonly start: number;
  readonly end: number;
}

// Every character may be escaped as in a URL.
const dot = /(\.|%2[eE])/;
const prefixAtEnd = /(?:m|%6[dD])(?:h|%68)(?:1|%31)$/;
const longestPrefix = '%6d%68%31'.length;
const foreign = /[^A-Za-z0-9_%-]|%(?![0-9A-Fa-f]{2})/;
// What follows a MAC's 43 characters is not part of it.
const macAtStart = /^(?:[A-Za-z0-9_-]|%[0-9A-Fa-f]{2}){1,43}/;

/**
 * Every handle in a text, in the order of their beginnings and of their ends: they overlap where one reads as the beginning of another, and
 * none hides the next. A handle begins at the end of what stands before a dot, holds all that stands before the next one, and ends behind
 * that: so no piece between two dots is read more than three times.
 */
export function findHandles(text: string): readonly FoundHandle[] {
  const found: FoundHandle[] = [];
  // Pieces at even places, dots at odd ones.
  const parts = text.split(dot);
  let offset = 0;
  for (const [index, part] of parts.entries()) {
    const end = offset + part.length;
    if (index % 2 === 0) {
      const prefix = prefixAtEnd.exec(part.slice(-longestPrefix))?.[0];
      const rest = prefix === undefined ? undefined : lengthBehind(parts, index);
      if (prefix !== undefined && rest !== undefined) found.push({ start: end - prefix.length, end: end + rest });
    }
    offset = end;
  }
  return found;
}

/** How much of a handle follows the prefix that ends a piece; undefined when it is no handle's. */
function lengthBehind(parts: readonly string[], index: number): number | undefined {
  const [firstDot = '', payload = '', secondDot = '', last = ''] = parts.slice(index + 1, index + 5);
  if (payload === '' || foreign.test(payload)) return undefined;
  const mac = macAtStart.exec(last)?.[0];
  return mac === undefined ? undefined : firstDot.length + payload.length + secondDot.length + mac.length;
}
