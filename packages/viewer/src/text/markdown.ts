/** Finds in the Markdown of a model what a page draws: headings, code, tables, bold. Lists, quotes, links and HTML stay as they are written. */

/** A stretch within a line. */
export interface Span {
  readonly kind: 'text' | 'code' | 'bold';
  readonly text: string;
}

export type Block =
  /** `about` is what stands behind the fence, such as the language. */
  | { readonly kind: 'code'; readonly about: string; readonly text: string }
  | { readonly kind: 'heading' | 'prose'; readonly spans: readonly Span[] }
  /** The first row has the titles. */
  | { readonly kind: 'table'; readonly rows: readonly (readonly (readonly Span[])[])[] };

/** A table of more rows, of more cells in a row, or with a longer line under its titles is not drawn. */
const [maxRows, maxCells, maxUnder] = [200, 20, 300];

const fence = /^\s{0,12}(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}#{1,6} +(.+)$/;
const underTitles = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** All of a text but marks of what is drawn. Takes time in proportion to the text, whatever it is. */
export function blocksOf(text: string): readonly Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let prose: string[] = [];
  const endProse = (): void => {
    const whole = prose.join('\n').replace(/^\n+/, '').trimEnd();
    if (whole !== '') blocks.push({ kind: 'prose', spans: spansOf(whole) });
    prose = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').replace(/\r$/, '');
    const [, marks, about = ''] = fence.exec(line) ?? [];
    const [, title] = heading.exec(line) ?? [];
    const rows = marks === undefined && line.includes('|') ? tableAt(lines, at) : [];
    if (marks !== undefined) {
      endProse();
      const end = endOfCode(lines, at + 1, marks);
      blocks.push({ kind: 'code', about: about.trim(), text: lines.slice(at + 1, end).join('\n') });
      at = end;
    } else if (title !== undefined) {
      endProse();
      blocks.push({ kind: 'heading', spans: spansOf(title) });
    } else if (rows.length > 0) {
      endProse();
      blocks.push({ kind: 'table', rows: rows.map((cells) => cells.map(spansOf)) });
      // The line under the titles is no row.
      at += rows.length;
    } else prose.push(line);
  }
  endProse();
  return blocks;
}

/** The line that closes a fence, or the end of the text. */
function endOfCode(lines: readonly string[], from: number, marks: string): number {
  const [mark = ''] = marks;
  for (let at = from; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').trim();
    if (line.length >= marks.length && line === mark.repeat(line.length)) return at;
  }
  return lines.length;
}

/** The rows of a table that begins at a line; empty where none begins there. */
function tableAt(lines: readonly string[], at: number): readonly (readonly string[])[] {
  const under = lines[at + 1] ?? '';
  const titles = cellsOf(lines[at] ?? '');
  if (under.length > maxUnder || !under.includes('-') || !underTitles.test(under)) return [];
  if (titles.length > maxCells || cellsOf(under).length !== titles.length) return [];
  const rows = [titles];
  for (let row = at + 2; (lines[row] ?? '').includes('|'); row += 1) {
    const cells = cellsOf(lines[row] ?? '');
    if (rows.length === maxRows || cells.length > maxCells) return [];
    rows.push(cells);
  }
  return rows;
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const marked = /`([^`\n]+)`|(?<![\w*])\*\*(?=\S)([^*\n]+)(?<=\S)\*\*(?![\w*])/g;

function spansOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const match of text.matchAll(marked)) {
    if (match.index > from) spans.push({ kind: 'text', text: text.slice(from, match.index) });
    const [whole, code, bold = ''] = match;
    spans.push(code === undefined ? { kind: 'bold', text: bold } : { kind: 'code', text: code });
    from = match.index + whole.length;
  }
  if (from < text.length) spans.push({ kind: 'text', text: text.slice(from) });
  return spans;
}
