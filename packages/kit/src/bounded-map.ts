/** A map that forgets what was set longest ago when it gets too large. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    super();
    this.#maxEntries = maxEntries;
  }

  /** Sets the value, and makes the entry the newest. */
  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.keys();
    if (this.size > this.#maxEntries && oldest !== undefined) this.delete(oldest);
    return this;
  }

  /** Removes the entry, and returns its value. */
  take(key: Key): Value | undefined {
    const value = this.get(key);
    this.delete(key);
    return value;
  }
}
