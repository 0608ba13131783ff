/** Keeps out of the compiler what a component could do harm with: custom sections, and names that would run as code. */

import { encodeUnsigned, MalformedWasm, WasmReader } from '../core-module.ts';

const preambleBytes = 8;
const customSection = 0;
const componentSection = 4;
const deepestNesting = 32;

/**
 * The component without its custom sections, those of nested components included. They mean nothing to an engine, and
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

/** Printable ASCII without what could end a string, a template or a comment of the script that names are written into. */
const harmless = /^(?:(?!\*\/)[\x20-\x7e](?<!['"`\\]))*$/;

/**
 * Core modules name imports and exports with any text at all, and the compiler writes these names into its script between
 * quotes, unchanged: a name with a quote in it would run as code of the host. Returns such a name, or null.
 * Throws `WebAssembly.CompileError` for a module that the engine does not take.
 */
export function harmfulName(module: Uint8Array): string | null {
  const compiled = new WebAssembly.Module(module);
  const imports = WebAssembly.Module.imports(compiled).flatMap(({ module, name }) => [module, name]);
  const exports = WebAssembly.Module.exports(compiled).map(({ name }) => name);
  return [...imports, ...exports].find((name) => !harmless.test(name)) ?? null;
}
