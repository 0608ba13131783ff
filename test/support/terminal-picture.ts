// Draws what a terminal shows as a picture for a page: one SVG with the text of its rows in it.
import xterm from '@xterm/headless';

/** The size of one cell, in units of the picture. */
const cell = { width: 8.4, height: 19 };
const margin = 18;

interface Span {
  readonly column: number;
  readonly text: string;
  readonly look: 'plain' | 'dim' | 'bold';
}

/** What stands on a terminal of so many columns that was sent these bytes, row by row; the last row is the last that holds something. */
export async function spansOf(bytes: string, columns: number): Promise<readonly (readonly Span[])[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 200, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(bytes, resolve));
  const buffer = terminal.buffer.active;
  const rows = Array.from({ length: buffer.length }, (_, index) => spansIn(buffer.getLine(index)));
  terminal.dispose();
  return rows.slice(0, rows.findLastIndex((spans) => spans.length > 0) + 1);
}

function spansIn(line: xterm.IBufferLine | undefined): readonly Span[] {
  const spans: Span[] = [];
  const width = line?.translateToString(true).length ?? 0;
  for (let column = 0; column < width; column += 1) {
    const at = line?.getCell(column);
    const look = at?.isDim() ? 'dim' : at?.isBold() ? 'bold' : 'plain';
    const text = at?.getChars() || ' ';
    const last = spans.at(-1);
    if (last?.look === look) spans[spans.length - 1] = { ...last, text: last.text + text };
    else spans.push({ column, text, look });
  }
  return spans;
}

/** `label` is for who cannot see it. */
export function drawTerminal(
  rows: readonly (readonly Span[])[],
  { columns, label }: { readonly columns: number; readonly label: string },
): string {
  const [width, height] = [Math.ceil(columns * cell.width + 2 * margin), rows.length * cell.height + 2 * margin];
  const texts = rows.flatMap((spans, row) => spans.map((span) => drawn(span, margin + (row + 0.75) * cell.height)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(label)}">
<style>
  text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d9dde5; white-space: pre }
  .dim { fill: #98a2b3 }
  .bold { font-weight: bold; fill: #ffffff }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#15181e"/>
${texts.join('\n')}
</svg>
`;
}

function drawn({ column, text, look }: Span, y: number): string {
  const x = (margin + column * cell.width).toFixed(1);
  const length = (text.length * cell.width).toFixed(1);
  return `<text class="${look}" x="${x}" y="${y}" textLength="${length}" xml:space="preserve">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The text of a picture, row by row. */
export function textOfPicture(picture: string): readonly string[] {
  const rows = new Map<string, string>();
  for (const [, y = '', text = ''] of picture.matchAll(/<text [^>]* y="([\d.]+)"[^>]*>([^<]*)<\/text>/g)) {
    rows.set(y, `${rows.get(y) ?? ''}${text}`);
  }
  return [...rows.values()].map((text) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  );
}
