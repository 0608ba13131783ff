/** Shows texts of others: as text nodes alone, each kept apart from what stands around it, and odd characters as marks that can be seen. */

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { DiffLine, FileEdit } from '@svc/protocol/viewed-rows.ts';
import { isPlain, runsOf } from '../text/odd-characters.ts';
import { count, counted } from '../text/words.ts';
import { folded } from '../trace/folded-lines.ts';

/** A text of others as children of an element whose class isolates it (`.theirs`, or any cell of a list). */
export function theirs(text: string): ComponentChildren {
  if (isPlain(text)) return text;
  return runsOf(text).map((run) => (run.isOdd ? <span class="odd">{run.text}</span> : run.text));
}

/** A text of others within a line of the page's own. */
export function Theirs({ text }: { readonly text: string }): JSX.Element {
  return <bdi class="theirs">{theirs(text)}</bdi>;
}

/** Characters and lines of a text that are put into the document at once. */
const [firstCharacters, firstLines, moreCharacters] = [12_000, 300, 120_000];

/** A long text of others, a part at a time. */
export function TextBlock({
  text,
  kind = '',
  draw,
}: {
  readonly text: ShownText;
  readonly kind?: string;
  /** Shows the part of a text in another way than as it is. */
  readonly draw?: ((text: string) => JSX.Element) | undefined;
}): JSX.Element {
  const [limit, setLimit] = useState(0);
  if (text.kind === 'none') return <p class="note">{text.why}</p>;
  if (text.text === '') return <p class="note">Empty.</p>;
  const end = limit === 0 ? firstEnd(text.text) : Math.min(limit, text.text.length);
  const rest = text.text.length - end;
  return (
    <>
      {draw === undefined ? (
        <pre class={`block ${kind}`} dir="auto">
          {theirs(text.text.slice(0, end))}
        </pre>
      ) : (
        draw(text.text.slice(0, end))
      )}
      {rest > 0 && (
        <button class="more" onClick={() => setLimit(end + moreCharacters)}>
          Show more, {count(rest)} characters are left
        </button>
      )}
      {rest === 0 && text.more > 0 && <p class="note">{count(text.more)} more characters are not shown here.</p>}
    </>
  );
}

function firstEnd(text: string): number {
  let end = -1;
  for (let line = 0; line < firstLines; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1 || end > firstCharacters) return Math.min(text.length, firstCharacters);
  }
  return end;
}

const firstDiffLines = 200;

/** What a call changed in a file; far from a change only how many lines stay. */
export function Diff({ edit }: { readonly edit: FileEdit }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const lines = folded(edit.lines);
  const shown = isWhole ? lines : lines.slice(0, firstDiffLines);
  return (
    <div class="diff">
      <p class="diff-head">
        <code class="theirs">{theirs(edit.path)}</code> <Changes added={edit.added} removed={edit.removed} />
      </p>
      <pre class="block" dir="auto">
        {shown.map((line) =>
          typeof line === 'number' ? (
            <span class="gap">
              {counted(line, 'line')} unchanged{'\n'}
            </span>
          ) : (
            <DiffRow line={line} />
          ),
        )}
      </pre>
      {shown.length < lines.length && (
        <button class="more" onClick={() => setWhole(true)}>
          Show all {counted(lines.length, 'line')}
        </button>
      )}
      {edit.more > 0 && <p class="note">{counted(edit.more, 'more line', 'more lines')} are not shown here.</p>}
    </div>
  );
}

const words = { '+': ['add', 'added: '], '-': ['del', 'removed: '], ' ': ['', ''] } as const;

function DiffRow({ line: [sign, text] }: { readonly line: DiffLine }): JSX.Element {
  const [name, word] = words[sign];
  return (
    <span class={`line ${name}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {word !== '' && <span class="off">{word}</span>}
      {theirs(text.slice(0, 2000))}
      {'\n'}
    </span>
  );
}

export function Changes({ added, removed }: { readonly added: number; readonly removed: number }): JSX.Element {
  return (
    <span class="changes">
      <span class="plus">+{count(added)}</span> <span class="minus">−{count(removed)}</span>
    </span>
  );
}
