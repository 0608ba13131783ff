import { closeSync } from 'node:fs';

/** Where pipes come from. */
export interface PipeSource {
  /** Makes some. Answers a descriptor of each, of its read end and not blocking; none where the host makes no pipes for us. */
  readonly make: () => Promise<readonly number[]>;
  /** They have a name: whoever opens one end by way of a descriptor waits until somebody has the other. */
  readonly areNamed: boolean;
}

/** Below this the next ones are made, while there are some left to launch with. */
const lowWater = 16;

/**
 * Pipes that nobody has used, for the launches to come. Node makes none itself: it gives a child sockets, which a program cannot open
 * by name, as `/dev/stdout`. They are made many at a time, because it takes a process to make them.
 */
export class PipeStock {
  readonly #source: PipeSource;
  readonly #held: number[] = [];
  #making: Promise<void> | null = null;
  #madeNone = false;
  #isClosed = false;

  constructor(source: PipeSource) {
    this.#source = source;
  }

  /** Whether a program may get one as its input. Opened by name when all was written, it would wait for ever where pipes are named. */
  get servesInputs(): boolean {
    return !this.#source.areNamed;
  }

  /** A descriptor of each pipe, the caller's to close; null where there are none to be had. */
  async take(count: number): Promise<readonly number[] | null> {
    this.#madeNone = false;
    while (this.#held.length < count && !this.#madeNone && !this.#isClosed) await this.#made();
    if (this.#held.length < count || this.#isClosed) return null;
    const taken = this.#held.splice(0, count);
    void this.fill();
    return taken;
  }

  /** Makes more of them where few are left; what is being made already counts. So there are never more than those few and what is made at once. */
  async fill(): Promise<void> {
    if (this.#held.length < lowWater) await this.#made();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#making;
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }

  #made(): Promise<void> {
    this.#making ??= this.#fill();
    return this.#making;
  }

  async #fill(): Promise<void> {
    try {
      const made = await this.#source.make();
      this.#held.push(...made);
      this.#madeNone = made.length === 0;
    } finally {
      this.#making = null;
    }
  }
}
