/** The tab Steps: every line of the trace a row, with bars over the time of the rows in sight. */

import type { JSX } from 'preact';

import * as kinds from '@svc/protocol/row-kinds.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import { betweenDetails } from '@svc/protocol/viewed-rows.ts';
import type { Span, View } from '../store/view.ts';
import { count, counted, duration } from '../text/words.ts';
import { labelOf, laneOfKind } from '../trace/kinds.ts';
import { theirs } from './theirs.tsx';
import { type RowAttributes, VirtualList } from './virtual-list.tsx';

export const stepsId = 'steps';

export function Steps({ view }: { readonly view: View }): JSX.Element {
  const { session, shown: rows, selected } = view;
  const active = placeOf(rows, selected.value);
  if (rows.length === 0) return <NoSteps view={view} />;
  return (
    <VirtualList
      id={stepsId}
      label="Steps"
      count={rows.length}
      rowHeight={28}
      active={active}
      isGrowing={session.live.value !== null}
      onMove={(index) => void (view.selected.value = rows[index] ?? -1)}
      onOpen={() => void (view.isPanelOpen.value = true)}
      layout="step-columns"
      columns={[
        ['At'],
        ['Step', 'first'],
        ['Arguments'],
        ['Over time', 'bar-column'],
        ['Tokens', 'num'],
        ['Took', 'num'],
      ]}
      rows={(first, last) => {
        const span = timeOf(view, rows.subarray(first, last));
        return (index, attributes) => (
          <StepRow row={rows[index] ?? -1} view={view} span={span} attributes={attributes} />
        );
      }}
    />
  );
}

interface StepRowProps {
  readonly row: number;
  readonly view: View;
  readonly span: Span;
  readonly attributes: RowAttributes;
}

function StepRow({ row, view, span: [from, to], attributes }: StepRowProps): JSX.Element {
  const { columns } = view.session;
  const kind = columns.kindOf(row);
  const bits = columns.flagsOf(row);
  const lane = laneOfKind[kind] ?? -1;
  const [start, took] = [columns.startOf(row), columns.durationOf(row)];
  const scale = 100 / Math.max(1, to - from);
  const left = Math.max(0, Math.min(99.5, (start - from) * scale));
  const width = Math.max(0, Math.min(100 - left, (start + took - from) * scale - left));
  const [word, about] = wordsOf(bits, columns.detailOf(row));
  const tokens = columns.inputOf(row) + columns.outputOf(row);
  return (
    <div
      {...attributes}
      class={`step step-columns lane${lane} ${word === '' ? '' : 'bad'}`}
      onClick={() => view.select(row)}
    >
      <span role="gridcell" class="at">
        {duration(start)}
      </span>
      <span role="gridcell" class={`name ${lane === -1 ? 'mark' : ''}`} title={labelOf(kind)}>
        <span class="off">{labelOf(kind)} </span>
        {theirs(columns.nameOf(row))}
      </span>
      <span role="gridcell" class="about">
        {word !== '' && <b>{word}</b>}
        {theirs(about)}
      </span>
      <span role="gridcell" class="bar-column" aria-hidden="true">
        <i style={{ left: `${left}%`, width: `${width}%` }} />
      </span>
      <span role="gridcell" class="num">
        {tokens > 0 ? count(tokens) : ''}
      </span>
      <span role="gridcell" class="num">
        {took > 0 ? duration(took) : ''}
      </span>
    </div>
  );
}

/** How a row went wrong, '' for one that did not; and the rest of its detail. */
export function wordsOf(bits: number, detail: string): readonly [word: string, about: string] {
  if ((bits & flags.refused) !== 0) return ['refused', detail];
  const end = detail.indexOf(betweenDetails);
  if ((bits & flags.exited) !== 0 && detail.startsWith('exit ') && end !== -1)
    return [detail.slice(0, end), detail.slice(end + betweenDetails.length)];
  return [(bits & (flags.failed | flags.exited)) === 0 ? '' : 'failed', detail];
}

function NoSteps({ view }: { readonly view: View }): JSX.Element {
  const { session } = view;
  const rows = session.count;
  if (rows.value > 0) {
    return (
      <div class="empty">
        <p>None of the {counted(rows.value, 'line')} is what the filters ask for.</p>
        <button class="button" onClick={() => view.reset()}>
          Show everything
        </button>
      </div>
    );
  }
  return (
    <p class="empty">
      {session.whyEmpty('The trace has no line. A session writes the first one when its capsule is ready.')}
    </p>
  );
}

/** The time that the rows in sight take, with some room. Rows that have nothing to do with time are left out where there are others. */
function timeOf({ session: { columns } }: View, rows: Uint32Array): Span {
  let [from, to] = [Infinity, 0];
  for (const row of rows) {
    if (columns.kindOf(row) === kinds.sessionEnd) continue;
    from = Math.min(from, columns.startOf(row));
    to = Math.max(to, columns.startOf(row) + columns.durationOf(row));
  }
  return to > from ? [from, to] : [0, 1];
}

/** The place of a row in an ascending list of rows; -1 where it is not in it. */
export function placeOf(rows: Uint32Array, row: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const there = rows[middle] ?? 0;
    if (there === row) return middle;
    if (there < row) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
