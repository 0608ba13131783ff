/** Takes what comes over a connection before anybody asks for it, up to a bound. */

/** Something that was read, and how much it counts for. */
export interface Sized<Value> {
  readonly value: Value;
  readonly size: number;
}

export interface AheadOptions {
  /** The sizes of what is held together; one value is held whatever its size. */
  readonly most: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads a source as fast as it gives, so that who writes to it need not wait for who reads here. Once too much is held the source is let go of, which
 * `isFull` says behind the last value.
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

  /** To be asked for once. Throws what the source does, behind the values before it, and at once the reason of an aborted signal. */
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
