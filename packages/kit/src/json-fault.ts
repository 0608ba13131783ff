/** Finds where a text stops being JSON: the engine does not always say it. */

const blanks = /[ \t\r\n]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex
const plainCharacters = /[^"\\\x00-\x1f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** Line and column, from 1, of the first character that no JSON text has there; of the end for a text that is not whole. Returns null for JSON. */
export function jsonFault(text: string): { readonly line: number; readonly column: number } | null {
  const at = faultAt(text);
  if (at === null) return null;
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** RFC 8259. */
function faultAt(text: string): number | null {
  const open: ('}' | ']')[] = [];
  let wanted: 'first' | 'name' | 'colon' | 'value' | 'next' = 'value';
  let at = 0;
  for (;;) {
    at = after(blanks, text, at) ?? at;
    const character = text[at];
    const closing = open.at(-1);
    if (wanted === 'next' && closing === undefined) return at === text.length ? null : at;
    if ((wanted === 'next' || wanted === 'first') && character === closing) {
      open.pop();
      wanted = 'next';
      at += 1;
    } else if (wanted === 'next') {
      if (character !== ',') return at;
      wanted = closing === '}' ? 'name' : 'value';
      at += 1;
    } else if (wanted === 'colon') {
      if (character !== ':') return at;
      wanted = 'value';
      at += 1;
    } else if (character === '"') {
      wanted = wanted === 'name' || (wanted === 'first' && closing === '}') ? 'colon' : 'next';
      at = endOfCharacters(text, at + 1);
      if (text[at] !== '"') return at;
      at += 1;
    } else if (wanted === 'name' || (wanted === 'first' && closing === '}')) {
      return at;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? '}' : ']');
      wanted = 'first';
      at += 1;
    } else {
      const end = after(scalar, text, at);
      if (end === null) return at;
      wanted = 'next';
      at = end;
    }
  }
}

/** Where a string ends, or stops being one. */
function endOfCharacters(text: string, from: number): number {
  let at = from;
  for (let next: number | null = at; next !== null; next = after(escape, text, at))
    at = after(plainCharacters, text, next) ?? next;
  return at;
}

/** The index behind what stands there; null where it does not. */
function after(shape: RegExp, text: string, at: number): number | null {
  shape.lastIndex = at;
  return shape.test(text) ? shape.lastIndex : null;
}
