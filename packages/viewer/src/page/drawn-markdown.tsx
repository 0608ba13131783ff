/** Draws the Markdown of a model as elements that only hold its text, or shows it as it is written. */

import type { ComponentChildren, JSX } from 'preact';

import { Cell } from '../store/cell.ts';
import { blocksOf, type Block, type Span } from '../text/markdown.ts';
import { theirs } from './theirs.tsx';

/** What a person has chosen, for all texts of the page. */
export const isDrawn: Cell<boolean> = new Cell(true);

/** How a text of the model is shown now, for `TextBlock`. */
export function howDrawn(): ((text: string) => JSX.Element) | undefined {
  return isDrawn.value ? (text) => <DrawnMarkdown text={text} /> : undefined;
}

function DrawnMarkdown({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="markdown">
      {blocksOf(text).map((block) => (
        <Part block={block} />
      ))}
    </div>
  );
}

function Part({ block }: { readonly block: Block }): JSX.Element {
  switch (block.kind) {
    case 'code':
      return (
        <>
          {block.about !== '' && <p class="small faint theirs">{theirs(block.about)}</p>}
          <pre class="block" dir="auto">
            {theirs(block.text)}
          </pre>
        </>
      );
    case 'heading':
      return (
        <p class="block prose heading" dir="auto">
          {spans(block.spans)}
        </p>
      );
    case 'prose':
      return (
        <p class="block prose" dir="auto">
          {spans(block.spans)}
        </p>
      );
    case 'table':
      return (
        <table>
          <tbody>
            {block.rows.map((cells) => (
              <tr>
                {cells.map((cell) => (
                  <td class="theirs">{spans(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
  }
}

function spans(all: readonly Span[]): ComponentChildren {
  return all.map(({ kind, text }) => {
    if (kind === 'code') return <code class="theirs">{theirs(text)}</code>;
    return kind === 'bold' ? <b>{theirs(text)}</b> : theirs(text);
  });
}

/** Switches between the two. */
export function MarkdownSwitch(): JSX.Element {
  return (
    <button
      class="filter choice"
      aria-pressed={!isDrawn.value}
      title="Markdown as it is written (m)"
      onClick={() => void (isDrawn.value = !isDrawn.value)}
    >
      As written
    </button>
  );
}
