/** Reads from the bytes of a component which interfaces it imports and exports, with the versions that the compiler leaves out. */

import { MalformedWasm, WasmReader } from '../core-module.ts';

const preambleBytes = 8;
const canonSection = 8;
const importSection = 10;
const exportSection = 11;
const coreSort = 0x00;
/** Imports and exports together: a section says how many it has before they are read. */
const maxExterns = 100_000;

/** What a component imports and exports, each name once. */
export interface ExternNames {
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

/** Each name once, such as `svc:text/chunks@0.1.0`, in the order of the bytes. Names of functions that belong to no interface are left out. Throws `MalformedWasm`. */
export function interfaceNames(component: Uint8Array): readonly string[] {
  const names = new Set<string>();
  for (const { name } of externs(component)) if (name.includes('/')) names.add(name);
  return [...names];
}

/** All names, those of functions and types included. Throws `MalformedWasm`, also for more than 100,000 of them. */
export function externNames(component: Uint8Array): ExternNames {
  const [imports, exports] = [new Set<string>(), new Set<string>()];
  for (const { section, name } of externs(component)) (section === importSection ? imports : exports).add(name);
  return { imports: [...imports], exports: [...exports] };
}

/** The same without functions and types that belong to no interface. */
export function interfacesOf(component: Uint8Array): ExternNames {
  const { imports, exports } = externNames(component);
  const isInterface = (name: string): boolean => name.includes('/');
  return { imports: imports.filter(isInterface), exports: exports.filter(isInterface) };
}

/** Whether functions go into it or out of it in a way that the compiler has to look at, as async ones do. Throws `MalformedWasm`. */
export function hasUnusualFunctions(component: Uint8Array): boolean {
  for (const { id, body } of sections(component)) {
    if (id !== canonSection) continue;
    for (let left = body.count(); left > 0; left -= 1) if (isUnusual(body)) return true;
  }
  return false;
}

/** Reads one canonical function. The usual ones are lifted, lowered, or `new`, `drop` and `rep` of a resource; the later kinds are for async functions. */
function isUnusual(reader: WasmReader): boolean {
  const kind = reader.byte();
  if (kind > 0x04) return true;
  if (kind > 0x01) {
    reader.count();
    return false;
  }
  reader.byte();
  reader.count();
  for (let left = reader.count(); left > 0; left -= 1) {
    const option = reader.byte();
    if (option > 0x05) return true;
    // The first three are encodings of text, the others name a memory or a function.
    if (option > 0x02) reader.count();
  }
  if (kind === 0x00) reader.count();
  return false;
}

interface Extern {
  readonly section: number;
  readonly name: string;
}

/** In the order of the bytes. */
function* externs(component: Uint8Array): Generator<Extern> {
  let counted = 0;
  for (const { id, body } of sections(component)) {
    if (id !== importSection && id !== exportSection) continue;
    const inSection = body.count();
    counted += inSection;
    if (counted > maxExterns) throw new MalformedWasm('it has more than 100,000 imports and exports');
    for (let left = inSection; left > 0; left -= 1) {
      const name = externName(body);
      yield { section: id, name };
      if (id === importSection) skipType(body);
      else skipExported(body);
    }
  }
}

function* sections(component: Uint8Array): Generator<{ readonly id: number; readonly body: WasmReader }> {
  const reader = new WasmReader(component, preambleBytes);
  while (!reader.done) yield { id: reader.byte(), body: new WasmReader(reader.take(reader.count())) };
}

/** A kind of name, 0 or 1, and its text. */
function externName(reader: WasmReader): string {
  const kind = reader.byte();
  if (kind > 1) throw new MalformedWasm('a name is of an unknown kind');
  return Buffer.from(reader.take(reader.count())).toString('utf8');
}

/** What an export is: its sort, its number and, where it says so, its type. */
function skipExported(reader: WasmReader): void {
  if (reader.byte() === coreSort) reader.byte();
  reader.count();
  if (reader.byte() === 1) skipType(reader);
}

/** The type of an import: a sort, and the number of a type or, for a type, its bound. */
function skipType(reader: WasmReader): void {
  const sort = reader.byte();
  if (sort === coreSort) reader.byte();
  // A value or a type is bound to something by its number, or is of a kind of its own, which has none for a resource.
  const isBound = sort === 0x02 || sort === 0x03;
  if (isBound && reader.byte() === 1 && sort === 0x03) return;
  reader.count();
}
