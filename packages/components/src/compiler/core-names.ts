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
