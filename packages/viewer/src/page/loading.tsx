/** Values that come later: what a component shows until then, and where they do not come at all. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { StepDetail } from '@svc/protocol/viewed-session.ts';
import { type Again, type Loaded, loadInTurn } from '../store/load-in-turn.ts';
import type { View } from '../store/view.ts';

/** Behind so many other lines, all texts of a line are there. */
const latestRows = 100;

export type Loading<Value> = Loaded<Value> | { readonly kind: 'loading' };

/** Loads again whenever one of `inputs` changes, where the answer to an earlier question is dropped, and as `again` says. */
export function useLoading<Value>(
  load: () => Promise<Value>,
  inputs: readonly unknown[],
  again: Again<Value> = { follows: () => null },
): Loading<Value> {
  const [state, setState] = useState<Loading<Value>>({ kind: 'loading' });
  useEffect(() => loadInTurn(load, again, setState), inputs);
  return state;
}

/** All of a row. Its texts come a little later than its line while a session runs. */
export function useDetail({ session, slowCount }: View, row: number): Loading<StepDetail> {
  return useLoading(() => session.ask('detail', row), [row, session.whole.value], {
    follows: () => slowCount.value,
    // What is not there long after its line does not come any more.
    isLast: ({ parts }) => parts.every(({ text }) => text.kind !== 'none') || slowCount.value > row + latestRows,
  });
}

/** What is shown of a value, once it is there. */
export function loaded<Value>(state: Loading<Value>, show: (value: Value) => JSX.Element): JSX.Element {
  if (state.kind === 'there') return show(state.value);
  return <p class="note">{state.kind === 'fault' ? state.why : 'Reading…'}</p>;
}
