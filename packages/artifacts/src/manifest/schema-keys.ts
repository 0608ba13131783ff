import type { $ZodType } from 'zod/v4/core';

import type { KeyPath } from './key-path.ts';

/** The parts of a zod definition that lead to another schema. */
interface Definition {
  readonly type: string;
  readonly innerType?: $ZodType;
  readonly in?: $ZodType;
  readonly getter?: () => $ZodType;
  readonly element?: $ZodType;
  readonly shape?: Readonly<Record<string, $ZodType>>;
}

/** The keys a schema knows in the block at `path`; none where it holds no block. */
export function knownKeys(schema: $ZodType, path: KeyPath): readonly string[] {
  let definition = unwrapped(schema);
  for (const segment of path) {
    const next = typeof segment === 'number' ? definition.element : definition.shape?.[segment];
    if (next === undefined) return [];
    definition = unwrapped(next);
  }
  return Object.keys(definition.shape ?? {});
}

/** The definition below `optional`, `default`, `nullable`, `lazy` and the reading side of a pipe. */
function unwrapped(schema: $ZodType): Definition {
  const definition: Definition = schema._zod.def;
  const inner = definition.innerType ?? definition.in ?? definition.getter?.();
  return inner === undefined ? definition : unwrapped(inner);
}
