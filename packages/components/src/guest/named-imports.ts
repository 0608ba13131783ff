/** What a component imports, by name. */

/** By interface, without versions, then by name: `svc:text/chunks`, `emitChunk`. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
