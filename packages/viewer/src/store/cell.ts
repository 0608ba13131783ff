/** Values that change: a watcher that reads them is called when one of them does. */

/** Called on changes: a list of each cell that is read. */
type Watchers = Set<() => void>;

/** The cells that the innermost reader has read; null while nobody is watched. */
let reading: Set<Watchers> | null = null;

export class Cell<Value> {
  #value: Value;
  readonly #watchers: Watchers = new Set();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    reading?.add(this.#watchers);
    return this.#value;
  }

  set value(value: Value) {
    if (value === this.#value) return;
    this.#value = value;
    // A watcher may read again, and is then called on the next change.
    const told = [...this.#watchers];
    for (const tell of told) tell();
  }
}

/**
 * What `read` returns. The first change of a cell that it has read calls `changed`, once: a reader that wants to know of the next one
 * watches again. `stop` ends it before.
 */
export function watch<Value>(
  read: () => Value,
  changed: () => void,
): { readonly value: Value; readonly stop: () => void } {
  const outer = reading;
  const cells = new Set<Watchers>();
  const stop = (): void => {
    for (const watchers of cells) watchers.delete(told);
  };
  const told = (): void => {
    stop();
    changed();
  };
  reading = cells;
  try {
    const value = read();
    for (const watchers of cells) watchers.add(told);
    return { value, stop };
  } finally {
    reading = outer;
  }
}

/** Calls with what `read` returns, and again whenever a cell that it has read has changed. Returns what ends it. */
export function follow<Value>(read: () => Value, tell: (value: Value) => void): () => void {
  let watched: { readonly stop: () => void };
  const look = (): void => {
    const now = watch(read, look);
    watched = now;
    tell(now.value);
  };
  look();
  return () => watched.stop();
}
