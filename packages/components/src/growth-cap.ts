/** Bounds how far the memories and tables of a component may grow. */

import {
  readCoreModule,
  type CoreModuleShape,
  type MemoryType,
  type Section,
  type TableType,
  encodeUnsigned,
} from './core-module.ts';

/** Writes into the core modules of a component how far each of their memories and tables may grow. */

const pageBytes = 65_536n;
/** What an entry of a table takes of the engine's heap, with what growing leaves behind; measured at 28 to 56. */
const entryBytes = 64n;
/** A memory that starts empty only stands in for another while a component is linked. */
const placeholderPages = 1n;
/** Tables that may grow share this part of what the initial sizes leave, and memories the rest. */
const tablesPart = 8n;
const hasMaximum = 0x01n;

/** Far above what any compiler writes. Each costs the engine more than the bytes that declare it. */
const most = { modules: 1_000, memories: 100, tables: 1_000, globals: 100_000, functions: 1_000_000 } as const;

export type CapOutcome =
  | { readonly kind: 'capped'; readonly modules: readonly CappedModule[]; readonly maxFunction: number }
  /** `reason` is a clause: `it needs 20480 KiB of memory and may have 16384 KiB`. */
  | { readonly kind: 'refused'; readonly reason: string };

interface CappedModule {
  readonly bytes: Uint8Array;
  /** Whether it defines memories or tables. */
  readonly grows: boolean;
}

/**
 * The core modules of a component with a maximum written into every memory and table they define, so that all of them together never pass
 * `maxBytes`. What is left over their initial sizes is shared out equally. Throws `MalformedWasm`.
 */
export function capGrowth(modules: readonly Uint8Array[], maxBytes: number): CapOutcome {
  if (modules.length > most.modules) return tooMany('modules', modules.length);
  const shapes = modules.map((bytes) => readCoreModule(bytes));
  for (const what of ['memories', 'tables', 'globals', 'functions'] as const) {
    const count = shapes.reduce((sum, shape) => sum + countOf(shape[what]), 0);
    if (count > most[what]) return tooMany(what, count);
  }
  const memories = shapes.flatMap(({ memories }) => memories);
  const tables = shapes.flatMap(({ tables }) => tables);
  const initial = sum(memories, initialMemoryBytes) + sum(tables, initialTableBytes);
  const allowed = BigInt(maxBytes);
  if (initial > allowed)
    return { kind: 'refused', reason: `it needs ${inKiB(initial)} of memory and may have ${inKiB(allowed)}` };
  const maxima = shareOut(memories, tables, allowed - initial);
  return {
    kind: 'capped',
    maxFunction: Math.max(0, ...shapes.map(({ maxFunction }) => maxFunction)),
    modules: shapes.map((shape, index) => ({
      bytes: rewrite(modules[index] ?? new Uint8Array(), shape, maxima),
      grows: shape.memories.length > 0 || shape.tables.some((table) => (maxima.get(table) ?? 0n) > 0n),
    })),
  };
}

type Maxima = ReadonlyMap<MemoryType | TableType, bigint>;

function shareOut(memories: readonly MemoryType[], tables: readonly TableType[], spareBytes: bigint): Maxima {
  const maxima = new Map<MemoryType | TableType, bigint>();
  const growingTables = tables.filter(({ minimum, maximum }) => maximum === null || maximum > minimum);
  const entries = shareOf(spareBytes / tablesPart / entryBytes, growingTables.length);
  for (const table of tables) maxima.set(table, lower(table.minimum + entries, table.maximum));
  const given = sum(tables, (table) => ((maxima.get(table) ?? 0n) - table.minimum) * entryBytes);
  const growingMemories = memories.filter(({ minimum }) => minimum > 0n);
  const pages = shareOf((spareBytes - given) / pageBytes, growingMemories.length);
  for (const memory of memories) {
    const share = memory.minimum === 0n ? placeholderPages : memory.minimum + pages;
    maxima.set(memory, lower(share, memory.maximum));
  }
  return maxima;
}

function shareOf(whole: bigint, count: number): bigint {
  return count === 0 ? 0n : whole / BigInt(count);
}

function lower(share: bigint, maximum: bigint | null): bigint {
  return maximum !== null && maximum < share ? maximum : share;
}

function initialMemoryBytes({ minimum }: MemoryType): bigint {
  return (minimum === 0n ? placeholderPages : minimum) * pageBytes;
}

function initialTableBytes({ minimum }: TableType): bigint {
  return minimum * entryBytes;
}

function sum<Item>(items: readonly Item[], bytesOf: (item: Item) => bigint): bigint {
  return items.reduce((total, item) => total + bytesOf(item), 0n);
}

function countOf(items: number | readonly unknown[]): number {
  return typeof items === 'number' ? items : items.length;
}

function tooMany(what: keyof typeof most, count: number): CapOutcome {
  return { kind: 'refused', reason: `it has ${count} ${what} and may have ${most[what]}` };
}

function inKiB(bytes: bigint): string {
  return `${(bytes + 1023n) / 1024n} KiB`;
}

function rewrite(bytes: Uint8Array, shape: CoreModuleShape, maxima: Maxima): Uint8Array {
  if (shape.memories.length === 0 && shape.tables.length === 0) return bytes;
  const parts = shape.sections.map((section) => rewriteSection(section, maxima));
  return Buffer.concat([bytes.subarray(0, shape.headerBytes), ...parts]);
}

function rewriteSection({ id, bytes, defines }: Section, maxima: Maxima): Uint8Array {
  if (defines.length === 0) return bytes;
  const limits = defines.flatMap((type) => [
    ...('element' in type ? [type.element] : []),
    Number(BigInt(type.flags) | hasMaximum),
    ...encodeUnsigned(type.minimum),
    ...encodeUnsigned(maxima.get(type) ?? type.minimum),
  ]);
  const body = [...encodeUnsigned(BigInt(defines.length)), ...limits];
  return Uint8Array.from([id, ...encodeUnsigned(BigInt(body.length)), ...body]);
}
