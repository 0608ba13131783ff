/** Lets so many requests be under way at a time, and the others wait in their order. */

export class RequestSlots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Returns what gives the place back, once. Rejects with the reason of the signal, and takes no place then. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free === 0) await this.#turn(signal);
    else this.#free -= 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#give();
      isHeld = false;
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(next);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(next);
    });
  }

  /** A place that is given back goes to the one that has waited longest. */
  #give(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
