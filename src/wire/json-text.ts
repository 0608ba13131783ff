/** Deeper values than this are refused: what walks them later, walks them by recursion. */
const maxDepth = 500;

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

export type JsonText =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'not-json' }
  /** Not looked at further, so perhaps not JSON either. */
  | { readonly kind: 'too-deep' };

/** Text of an untrusted side as a JSON value. */
export function parseJsonText(text: string): JsonText {
  // Before it is parsed: the parser takes seconds for a few megabytes of brackets.
  if (nestsTooDeep(text)) return { kind: 'too-deep' };
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'not-json' };
    throw error;
  }
}

/** Counts brackets outside strings. */
function nestsTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) inString = !inString;
    else if (inString && code === backslash) index += 1;
    else if (!inString && (code === openBracket || code === openBrace)) depth += 1;
    else if (!inString && (code === closeBracket || code === closeBrace)) depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}
