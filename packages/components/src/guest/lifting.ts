/** Copies what a component hands over out of its memory for the script that links it, and counts it before. */

import { beginHandingOver, countHandedOver } from './retained.ts';

/** What the engine and the allocator add to an array of bytes, and the engine to a text or to any other item of a list. */
const bytesOverhead = 256;
const itemOverhead = 64;
/** What may be made of each byte of an item: in a variant within a variant one byte says which case an object is of. */
const madeOfByte = 40;

interface Lifting {
  bytes(memory: ArrayBuffer, start: number, end: number): ArrayBuffer;
  decoder(encoding?: string): { decode(bytes: Uint8Array | Uint16Array | DataView): string };
  /** Called before the items of a list are copied, one by one; each takes so many bytes of memory, beside those that it names. */
  items(count: number, bytes: number): void;
  /** Called when the arguments of an import are complete. Nothing of the guest runs until it has returned. */
  arrived(): void;
}

/** What the script asks for in place of `ArrayBuffer.prototype.slice` and `TextDecoder`. */
export const lifting: Lifting = {
  bytes(memory, start, end) {
    countHandedOver(bytesOverhead + end - start);
    return memory.slice(start, end);
  },
  decoder(encoding) {
    const decoder = new TextDecoder(encoding);
    return {
      decode(bytes) {
        countHandedOver(itemOverhead + bytes.byteLength);
        return decoder.decode(bytes);
      },
    };
  },
  items: (count, bytes) => countHandedOver(count * (itemOverhead + bytes * madeOfByte)),
  arrived: beginHandingOver,
};
