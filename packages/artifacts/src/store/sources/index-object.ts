import * as z from 'zod/mini';

import { printable } from '@svc/kit/diagnostics/printable.ts';
import { listOf } from '@svc/protocol/bounded-lists.ts';
import { parseJson } from './answer-text.ts';

/** How an artifact is packaged (D3 "Registry", publish query `runtime`). */
export const packagings = ['wasm', 'native', 'static'] as const;
export type Packaging = (typeof packagings)[number];

const indexObject = z.object({
  name: z.string(),
  version: z.string(),
  runtime: z.enum(packagings),
  artifact_runtime: z.enum(['tool', 'hook', 'driver', 'skill']),
  platforms: z._default(listOf(z.tuple([z.string(), z.string()])), []),
  description: z._default(z.nullable(z.string()), null),
  tags: z._default(listOf(z.string()), []),
});

/** One version in the index of a registry (D3 "Registry index object"). */
export type IndexObject = z.infer<typeof indexObject>;

export type IndexReading =
  | { readonly kind: 'index'; readonly objects: readonly IndexObject[] }
  | { readonly kind: 'unparsable'; readonly reason: string };

/** The body of `GET /v1/artifacts`. One object that is not as D3 has it makes the whole unparsable. */
export function parseIndex(text: string): IndexReading {
  const value = parseJson(text);
  if (value === undefined) return { kind: 'unparsable', reason: 'it is not JSON' };
  if (!Array.isArray(value)) return { kind: 'unparsable', reason: 'it is no list' };
  const objects: IndexObject[] = [];
  // One by one: of a whole list, a schema would keep an error for each of millions.
  for (const [index, each] of value.entries()) {
    const parsed = indexObject.safeParse(each, { jitless: true });
    if (!parsed.success) return { kind: 'unparsable', reason: faultOf(index, parsed.error) };
    objects.push(parsed.data);
  }
  return { kind: 'index', objects };
}

function faultOf(index: number, { issues: [issue] }: z.core.$ZodError): string {
  const place = [index, ...(issue?.path ?? [])].map(String).join('.');
  return printable(`${place} is missing, or not what it should be`);
}
