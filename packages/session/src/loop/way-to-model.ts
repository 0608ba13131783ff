/** Notes how a call of the model went over the network. */

/** Which host was asked, and when its answer began. A replay sees none of it. */
export class WayToModel {
  /** Where the last request went; null before the first. */
  host: string | null = null;
  /** Milliseconds until the first piece of the answer; null before it. */
  firstMs: number | null = null;
  readonly #elapsedMs: () => number;

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** A request goes out. An answer that broke off before it counts for nothing: the one that is read comes after this. */
  asked(host: string): void {
    this.host = host;
    this.firstMs = null;
  }

  /** A piece of the answer has come. */
  onFirstByte(): void {
    this.firstMs ??= this.#elapsedMs();
  }
}
