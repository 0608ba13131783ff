/** Bounds what all receivers of a capsule's notifications may hold, and how many are asked at the same time. */

/** Of notifications that wait, of all receivers together. */
const mostBytes = 32 * 1024 * 1024;
const mostAtOnce = 32;

/** Shared by all queues of one capsule. */
export class PushBudget {
  #bytes = 0;
  #taken = 0;
  /** The first comes first. */
  readonly #waiting: (() => void)[] = [];

  /** False where there is no room for so many bytes. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > mostBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** A place for one request, which the function gives back; null when the signal is aborted before there is one. */
  async place(signal: AbortSignal): Promise<(() => void) | null> {
    while (this.#taken >= mostAtOnce && !signal.aborted) await this.#turn(signal);
    if (signal.aborted) return null;
    this.#taken += 1;
    return () => {
      this.#taken -= 1;
      this.#waiting.shift()?.();
    };
  }

  /** Resolves when a place may be free, or with the end of the signal. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', leave);
        // Another one has the turn of who goes away in the moment in which it comes.
        queueMicrotask(() => {
          if (signal.aborted) this.#waiting.shift()?.();
        });
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
