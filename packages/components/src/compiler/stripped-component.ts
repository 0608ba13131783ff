import { encodeUnsigned, MalformedWasm, WasmReader } from '../wasm-reader.ts';

const preambleBytes = 8;
const customSection = 0;
const componentSection = 4;
const deepestNesting = 32;

/**
 * The component without its custom sections, those of nested components included. They mean nothing to whoever runs it, and
 * what some of them hold, documentation for one, would reach the compiler unchecked. Throws `MalformedWasm`.
 */
export function strippedComponent(bytes: Uint8Array, depth = 0): Uint8Array {
  if (depth > deepestNesting) throw new MalformedWasm('components are nested too deep');
  const reader = new WasmReader(bytes);
  const parts = [reader.take(preambleBytes)];
  while (!reader.done) {
    const start = reader.at;
    const id = reader.byte();
    const body = reader.take(reader.count());
    if (id === customSection) continue;
    if (id !== componentSection) parts.push(bytes.subarray(start, reader.at));
    else {
      const nested = strippedComponent(body, depth + 1);
      parts.push(Uint8Array.from([id, ...encodeUnsigned(BigInt(nested.length))]), nested);
    }
  }
  return Buffer.concat(parts);
}
