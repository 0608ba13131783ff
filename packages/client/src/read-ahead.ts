/** Reads from a connection before its caller asks for the values, up to a bound. */

/** A value that was read, and its size. */
export interface Sized<Value> {
  readonly value: Value;
  readonly size: number;
}

export interface AheadOptions {
  /** The bound on the sizes of all held values; a single value may be larger. */
  readonly most: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads a source as fast as it gives, so that its writer need not wait for a slow reader here. Once too much is held it closes the source, and
 * `isFull` is true after the last value.
 */
export class ReadAhead<Value> {
  readonly #begin: (signal: AbortSignal) => AsyncIterable<Sized<Value>>;
  readonly #options: AheadOptions;
  #held: Sized<Value>[] = [];
  #size = 0;
  #end: { readonly error: unknown } | 'over' | 'full' | null = null;
  #wake = (): void => {};

  /** `begin` is called once, with a signal that ends it early. */
  constructor(begin: (signal: AbortSignal) => AsyncIterable<Sized<Value>>, options: AheadOptions) {
    this.#begin = begin;
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#end === 'full';
  }

  /** Call it once. It throws the error of the source after the values before it, and at once the reason of an aborted signal. */
  async *values(): AsyncGenerator<Value, void> {
    const { signal } = this.#options;
    const leave = new AbortController();
    void this.#read(signal === undefined ? leave.signal : AbortSignal.any([signal, leave.signal]));
    try {
      for (;;) {
        signal?.throwIfAborted();
        const next = this.#held.shift();
        if (next !== undefined) {
          this.#size -= next.size;
          yield next.value;
        } else if (this.#end === null) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        } else if (typeof this.#end === 'object') {
          throw this.#end.error;
        } else return;
      }
    } finally {
      leave.abort();
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      for await (const each of this.#begin(signal)) {
        if (this.#take(each)) continue;
        this.#end = 'full';
        break;
      }
      this.#end ??= 'over';
    } catch (error) {
      this.#end = { error };
    }
    this.#wake();
  }

  /** Whether there is room for another one. */
  #take(each: Sized<Value>): boolean {
    this.#held.push(each);
    this.#size += each.size;
    this.#wake();
    return this.#held.length === 1 || this.#size <= this.#options.most;
  }
}
