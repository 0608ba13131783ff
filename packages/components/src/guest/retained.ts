/**
 * What this process keeps for its one component outside the component's memories, counted in bytes together with them. A guest makes all of
 * it grow: handles, header fields, bodies that wait for their request.
 */

/** What a thing that the guest has a handle of takes at least: itself, what stands behind it, its places in tables. */
const objectBytes = 1_024;

/** Kept even where memories are as large as they may be: a component needs some handles to do anything. */
const allowanceBytes = 1024 * 1024;

interface MemoryLimit {
  readonly maxBytes: number;
  /** Called instead of keeping more than that. */
  readonly onSpent: () => never;
}

let limit: MemoryLimit | null = null;
let keptBytes = 0;
const memories = new Set<WebAssembly.Memory>();

/** From now on nothing more is kept than this. Before that, and where it is never called, there is no limit. */
export function limitMemory(given: MemoryLimit): void {
  limit = given;
}

/** Counts a memory of the component, at whatever size it has when it is looked at. */
export function countMemory(memory: WebAssembly.Memory): void {
  memories.add(memory);
}

/** Returns how many bytes memories take, and what is kept beside them. */
export function bytesInUse(): number {
  let bytes = keptBytes;
  for (const { buffer } of memories) bytes += buffer.byteLength;
  return bytes;
}

let handedOverBytes = 0;

/**
 * Counts what a component hands over with one call, before it is copied out of its memory: at most as much as its memory may be. A list may
 * name the same range again and again.
 */
export function countHandedOver(bytes: number): void {
  handedOverBytes += bytes;
  if (limit !== null && handedOverBytes > limit.maxBytes + allowanceBytes) limit.onSpent();
}

/** From here on the next call counts: what the last one handed over has arrived. */
export function beginHandingOver(): void {
  handedOverBytes = 0;
}

/** A share of what is kept. Its holder declares a size before the share grows to it. */
export class Retained {
  #bytes = 0;

  set(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more > 0 && limit !== null && bytesInUse() + more > limit.maxBytes + allowanceBytes) limit.onSpent();
    keptBytes += more;
    this.#bytes = bytes;
  }

  add(bytes: number): void {
    this.set(this.#bytes + bytes);
  }
}

/** What the guest has a handle of. It counts from when it is made until it is disposed of, by the guest or by what it was handed to. */
export class HostObject {
  readonly #retained = new Retained();

  constructor() {
    this.#retained.set(objectBytes);
  }

  /** Says how many bytes it holds beside itself from now on. */
  protected holds(bytes: number): void {
    this.#retained.set(objectBytes + bytes);
  }

  [Symbol.dispose](): void {
    this.#retained.set(0);
  }
}
