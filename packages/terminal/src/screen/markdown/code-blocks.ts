/** Finds the blocks of code in an answer. */

import { isFenceEnd, lineKind } from './markdown-lines.ts';

/** The blocks in their order, each as it was written; one without an end goes to the end of the text. Each ends with a line feed, unless it is empty. */
export function codeBlocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let fence: string | null = null;
  let lines: string[] = [];
  const end = (): void => {
    blocks.push(lines.map((line) => `${line}\n`).join(''));
    lines = [];
    fence = null;
  };
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (fence === null) {
      const kind = lineKind(line);
      if (kind.kind === 'fence') ({ fence } = kind);
    } else if (isFenceEnd(line, fence)) end();
    else lines.push(line);
  }
  if (fence !== null) end();
  return blocks;
}
