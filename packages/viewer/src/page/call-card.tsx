/** A call within a conversation: a line that opens to its arguments, its change and its output. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { View } from '../store/view.ts';
import { duration } from '../text/words.ts';
import { labelOf, laneOfKind } from '../trace/kinds.ts';
import { loaded, useDetail } from './loading.tsx';
import { StepTexts } from './step-texts.tsx';
import { wordsOf } from './steps.tsx';
import { theirs } from './theirs.tsx';

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
  const detail = useDetail(view, row);
  return (
    <div class="call-body">
      {loaded(detail, (there) => (
        <StepTexts detail={there} />
      ))}
      <button class="link" onClick={() => view.select(row)}>
        All of this step
      </button>
    </div>
  );
}
