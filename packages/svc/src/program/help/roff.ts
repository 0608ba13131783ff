/** Writes the Markdown of our own documentation as a manual page. */

/** Characters that would be a request, an escape or another glyph. */
const special: Readonly<Record<string, string>> = {
  '\\': String.raw`\(rs`,
  '-': String.raw`\-`,
  "'": String.raw`\(aq`,
  '`': String.raw`\(ga`,
  '^': String.raw`\(ha`,
  '~': String.raw`\(ti`,
};

/** A text as it is. */
export function roffText(text: string): string {
  const escaped = text.replaceAll(/[\\\-'`^~]|[^\0-~]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return special[character] ?? String.raw`\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`;
  });
  return escaped.replaceAll(/^\./gm, String.raw`\&.`);
}

export function bold(text: string): string {
  return text === '' ? '' : String.raw`\fB${roffText(text)}\fP`;
}

/** Words, code in bold, and of links what they are called. */
export function inline(markdown: string): string {
  const plain = markdown.replaceAll(/\[((?:[^\][]|\[[^\]]*\])+)\]\([^)\s]+\)/g, '$1').replaceAll(String.raw`\|`, '|');
  const parts = plain.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/);
  const line = parts.map((part) => {
    if (part.startsWith('`') && part.length > 2) return bold(part.slice(1, -1));
    if (part.startsWith('**')) return bold(part.slice(2, -2));
    if (part.startsWith('*') && part.length > 2) return String.raw`\fI${roffText(part.slice(1, -1))}\fP`;
    return roffText(part);
  });
  return line.join('').replace(/^\./, String.raw`\&.`);
}

/** A term and what there is to say of it; both are roff already. */
export function definition(term: string, text: string): string {
  return `.TP\n${term}\n${text === '' ? String.raw`\&` : text}\n`;
}

/** Lines as they are, such as what is typed and printed. */
export function example(lines: readonly string[]): string {
  return `.PP\n.nf\n.RS 4\n${lines.map((line) => (line === '' ? String.raw`\&` : roffText(line))).join('\n')}\n.RE\n.fi\n`;
}

/** The cells of the rows of a table, without its head. */
function tableRows(block: string): readonly (readonly string[])[] {
  const rows = block.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

/** Paragraphs, headings, lists, tables and listings, one after the other, without the blocks that `isLeftOut` names. */
export function roffOf(markdown: string, isLeftOut: (block: string) => boolean = () => false): string {
  return blocksOf(markdown)
    .filter((block) => !isLeftOut(block))
    .map((block) => {
      if (block.startsWith('```')) return example(block.split('\n').slice(1, -1));
      if (block.startsWith('#')) return `.SS ${inline(block.replace(/^#+\s*/, ''))}\n`;
      if (block.startsWith('|')) return tableOf(block);
      if (block.startsWith('- ')) return listOf(block);
      return `.PP\n${inline(block.replaceAll('\n', ' '))}\n`;
    })
    .join('');
}

function tableOf(block: string): string {
  return tableRows(block)
    .map(([term = '', ...rest]) => definition(inline(term), rest.map(inline).join('; ')))
    .join('');
}

function listOf(block: string): string {
  const items = block.split(/^- /m).filter((item) => item !== '');
  return items.map((item) => String.raw`.IP \(bu 2` + `\n${inline(item.trim().replaceAll(/\s+/g, ' '))}\n`).join('');
}

/** What stands between empty lines, listings as a whole. */
function blocksOf(markdown: string): readonly string[] {
  return markdown
    .split(/(^```[^]*?^```$)/m)
    .flatMap((part) => (part.startsWith('```') ? [part] : part.split(/\n{2,}/)))
    .map((block) => block.trim())
    .filter((block) => block !== '');
}
