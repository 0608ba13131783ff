/** Values that come later: what a component shows until then, and where they do not come at all. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { SourceFault } from '../worker/byte-sources.ts';

export type Loading<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'there'; readonly value: Value }
  | { readonly kind: 'fault'; readonly why: string };

/** Loads again whenever one of `inputs` changes; the answer to an earlier question is dropped. */
export function useLoading<Value>(load: () => Promise<Value>, inputs: readonly unknown[]): Loading<Value> {
  const [state, setState] = useState<Loading<Value>>({ kind: 'loading' });
  useEffect(() => {
    let isWanted = true;
    load().then(
      (value) => isWanted && setState({ kind: 'there', value }),
      (error: unknown) =>
        isWanted &&
        setState({ kind: 'fault', why: error instanceof SourceFault ? error.message : 'This cannot be read.' }),
    );
    return () => {
      isWanted = false;
    };
  }, inputs);
  return state;
}

/** What is shown of a value, once it is there. */
export function loaded<Value>(state: Loading<Value>, show: (value: Value) => JSX.Element): JSX.Element {
  if (state.kind === 'there') return show(state.value);
  return <p class="note">{state.kind === 'fault' ? state.why : 'Reading…'}</p>;
}
