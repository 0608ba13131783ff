/** Loads a value again while what it is made of goes on, one load at a time. */

import { SourceFault } from '../worker/byte-sources.ts';
import { follow } from './cell.ts';

export type Loaded<Value> =
  | { readonly kind: 'there'; readonly value: Value }
  | { readonly kind: 'fault'; readonly why: string };

export interface Again<Value> {
  /** The value is loaded again when a cell that this reads has changed, and the load before has ended. */
  readonly follows: () => unknown;
  /** Whether a value needs not be loaded again. */
  readonly isLast?: (value: Value) => boolean;
}

/** Loads now, and again as `again` says; reports what each load came to. Returns what ends it: nothing is reported from then on. */
export function loadInTurn<Value>(
  load: () => Promise<Value>,
  { follows, isLast = () => false }: Again<Value>,
  tell: (loaded: Loaded<Value>) => void,
): () => void {
  let [isLoading, isDue, isOver] = [false, false, false];
  const turn = async (): Promise<void> => {
    isDue = isLoading;
    if (isLoading) return;
    isLoading = true;
    const loaded = await settled(load);
    isLoading = false;
    if (isOver) return;
    if (loaded.kind === 'there' && isLast(loaded.value)) end();
    else if (isDue) void turn();
    tell(loaded);
  };
  const stop = follow(follows, () => void turn());
  const end = (): void => {
    isOver = true;
    stop();
  };
  return end;
}

async function settled<Value>(load: () => Promise<Value>): Promise<Loaded<Value>> {
  try {
    return { kind: 'there', value: await load() };
  } catch (error) {
    return { kind: 'fault', why: error instanceof SourceFault ? error.message : 'This cannot be read.' };
  }
}
