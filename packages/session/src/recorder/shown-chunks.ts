/** Holds what an effect shows until it is recorded, and no more of it than a record can take. */

/** What is shown while an effect lasts; `retry` is a reason why its driver asks again. */
export type ChunkKind = 'text' | 'thinking' | 'retry';

/** A chunk as the record holds it. */
export type Chunk = readonly [ChunkKind, string];

/** Characters of all chunks of one effect. As JSON they are six times as many at most, which a text can still hold. */
const maxShown = 16 * 1024 * 1024;
/** What a chunk counts beside its characters: many short ones take more memory than their text. */
const chunkCost = 32;
/** Reasons to ask again that the trace has of one effect; a driver decides itself how often it asks. They are kept whatever else is shown. */
export const maxRetriesTraced = 16;

/** The chunks of one effect, the first 16 Mi characters of them; where more is left out, a `…` stands once for each kind. */
export class ShownChunks {
  #chunks: Chunk[] = [];
  #left = maxShown;
  #retries = 0;
  readonly #cut = new Set<ChunkKind>();

  add(kind: ChunkKind, text: string): void {
    if (kind === 'retry') this.#retries += 1;
    const isTraced = kind === 'retry' && this.#retries <= maxRetriesTraced;
    const cost = text.length + chunkCost;
    if (isTraced || cost <= this.#left) {
      this.#left -= cost;
      this.#chunks.push([kind, text]);
    } else if (!this.#cut.has(kind)) {
      this.#cut.add(kind);
      this.#chunks.push([kind, `${text.slice(0, Math.max(0, this.#left))}…`]);
      this.#left = 0;
    }
  }

  /** Those since the last call. */
  take(): readonly Chunk[] {
    const taken = this.#chunks;
    this.#chunks = [];
    return taken;
  }
}
