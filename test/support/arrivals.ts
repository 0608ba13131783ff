/** Things in the order of their arrival; a reader of the next one waits for it. */
export class Arrivals<T> {
  readonly all: T[] = [];
  #read = 0;
  #wake: (() => void)[] = [];

  push(thing: T): void {
    this.all.push(thing);
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** The next one that nobody has taken and that fits; those before it are passed over. */
  async next(fits: (thing: T) => boolean = () => true): Promise<T> {
    for (;;) {
      while (this.#read < this.all.length) {
        const thing = this.all[this.#read] as T;
        this.#read += 1;
        if (fits(thing)) return thing;
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}
