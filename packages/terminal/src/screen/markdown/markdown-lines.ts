/** Says what a line of Markdown begins. */

export type LineKind =
  | { readonly kind: 'blank' | 'rule' | 'text' | 'table' }
  | { readonly kind: 'fence'; readonly fence: string; readonly info: string }
  /** `before` is the mark with its indent, `rest` the text behind it. */
  | { readonly kind: 'heading' | 'item' | 'quote'; readonly before: string; readonly rest: string };

const fence = /^\s{0,12}(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}#{1,6}(?:[ \t]+|$)/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const item = /^([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)/;
const quote = /^ {0,3}((?:> ?)+)/;
/** No rule and no start of a block is longer. */
const maxStart = 200;

/** What a whole line begins, or one that goes on behind a start that `isDecided`. */
export function lineKind(line: string): LineKind {
  const start = line.slice(0, maxStart);
  if (/^\s*$/.test(line)) return { kind: 'blank' };
  const [fenced, ticks, info] = fence.exec(start) ?? [];
  if (fenced !== undefined && line.length <= maxStart)
    return { kind: 'fence', fence: ticks ?? '', info: (info ?? '').trim() };
  if (line.length <= maxStart && rule.test(line)) return { kind: 'rule' };
  if (/^\s{0,3}\|/.test(start)) return { kind: 'table' };
  const [headed] = heading.exec(start) ?? [];
  if (headed !== undefined) return { kind: 'heading', before: headed, rest: line.slice(headed.length) };
  const [listed, indent = '', bullet = ''] = item.exec(start) ?? [];
  if (listed !== undefined) {
    const before = `${indent.replaceAll('\t', '    ')}${bullet} `;
    return { kind: 'item', before, rest: line.slice(listed.length) };
  }
  const [quoted, marked = ''] = quote.exec(start) ?? [];
  if (quoted !== undefined) return { kind: 'quote', before: marked, rest: line.slice(quoted.length) };
  return { kind: 'text' };
}

/** Whether the line is the end of a block of code that the fence has begun. */
export function isFenceEnd(line: string, begun: string): boolean {
  const shown = line.slice(0, 2 * maxStart).trim();
  return line.length < 2 * maxStart && shown.length >= begun.length && shown === (begun[0] ?? '').repeat(shown.length);
}

/** Whether the start of a line says what it begins, however it goes on. */
export function isDecided(start: string): boolean {
  const shown = start.slice(0, maxStart).trimStart();
  if (shown.startsWith('|') || /^(?:`{3}|~{3}|`{1,2}$|~{1,2}$)/.test(shown)) return false;
  return /[^\s\d`~|#>=+*_.)-]/.test(shown) || start.length >= maxStart;
}
