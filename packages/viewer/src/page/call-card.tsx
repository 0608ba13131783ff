/** A call within a conversation: a line that opens to its arguments, its change and its output. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { View } from '../store/view.ts';
import { duration } from '../text/words.ts';
import { labelOf, laneOfKind } from '../trace/kinds.ts';
import { useLoading } from './loading.ts';
import { Output } from './side-panel.tsx';
import { wordsOf } from './steps.tsx';
import { Diff, TextBlock, theirs } from './theirs.tsx';

export function CallCard({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const { columns } = view.session;
  const [isOpen, setOpen] = useState(false);
  const kind = columns.kindOf(row);
  const [word, about] = wordsOf(columns.flagsOf(row), columns.detailOf(row));
  return (
    <div
      class={`call lane${laneOfKind[kind] ?? -1} ${word === '' ? '' : 'bad'} ${view.selected.value === row ? 'on' : ''}`}
    >
      <button class="call-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <i class="square" />
        <span class="call-name theirs mono">
          <span class="off">{labelOf(kind)} </span>
          {theirs(columns.nameOf(row))} <span class="muted">{theirs(about)}</span>
        </span>
        <span class="call-facts">
          {word !== '' && <b>{word} · </b>}
          {duration(columns.durationOf(row))}
        </span>
        <span class="chevron" />
      </button>
      {isOpen && <CallBody row={row} view={view} />}
    </div>
  );
}

function CallBody({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const detail = useLoading(() => view.session.ask('detail', row), [row]);
  if (detail.kind === 'loading') return <p class="note">Reading…</p>;
  if (detail.kind === 'fault') return <p class="note">{detail.why}</p>;
  const { edit, arguments: given, texts } = detail.value;
  return (
    <div class="call-body">
      {texts.map(({ label, isWhy, text }) => (
        <>
          <h3>{label}</h3>
          <TextBlock text={text} kind={isWhy ? 'why' : ''} />
        </>
      ))}
      {edit !== null && <Diff edit={edit} />}
      {given !== null && (
        <>
          <h3>Arguments</h3>
          <TextBlock text={given} />
        </>
      )}
      <Output row={row} view={view} />
      <button class="link" onClick={() => view.select(row)}>
        All of this step
      </button>
    </div>
  );
}
