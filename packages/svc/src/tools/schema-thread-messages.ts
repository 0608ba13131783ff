import type { JsonSchema } from './schema-problems.ts';

/** What the thread of schemas is asked. A schema is sent once, under a number of its own. */
export type SchemaQuestion =
  | { readonly kind: 'compile'; readonly key: number; readonly schema: JsonSchema }
  | { readonly kind: 'check'; readonly key: number; readonly args: unknown }
  /** Whether the schema is one at all. */
  | { readonly kind: 'check-schema'; readonly schema: JsonSchema };

export type SchemaAnswer =
  /** Empty where there is none. */
  | { readonly kind: 'problems'; readonly problems: readonly string[] }
  /** `reason` is a clause: `its type is not object`. */
  | { readonly kind: 'unusable'; readonly reason: string };
