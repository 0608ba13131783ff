import { planLimits } from './plan.ts';

/** With a dollar before them the braces belong to another language, that of workflow files. */
const reference = /(?<!\$)\{\{\s*steps\.([A-Za-z0-9_-]{1,64})\.output\s*\}\}/g;
/** What was meant to be one. Double braces of anything else are the tool's own. */
const anyReference = /(?<!\$)\{\{\s*steps\b[^{}]{0,100}\}{0,2}/;

export interface FoundReferences {
  readonly steps: ReadonlySet<string>;
  /** Of those that are none, the first as it stands. */
  readonly malformed: string | null;
}

/** The steps whose output an input asks for. Keys are not looked at: only values are filled in. */
export function referencesIn(input: unknown): FoundReferences {
  const steps = new Set<string>();
  let malformed: string | null = null;
  mapStrings(input, (text) => {
    for (const [, id = ''] of text.matchAll(reference)) steps.add(id);
    malformed ??= anyReference.exec(text.replaceAll(reference, '.'))?.[0] ?? null;
    return text;
  });
  return { steps, malformed };
}

export type FilledInput<T> = { readonly kind: 'filled'; readonly input: T } | { readonly kind: 'too-long' };

/**
 * A copy of `input` with every reference replaced by what `outputOf` gives for its step. What is put in is text and not read again,
 * so an output that looks like a reference stays as it is.
 */
export function fillReferences<T>(input: T, outputOf: (id: string) => string): FilledInput<T> {
  let handedOn = 0;
  const filled = mapStrings(input, (text) =>
    text.replaceAll(reference, (_whole, id: string) => {
      const output = outputOf(id);
      handedOn += output.length;
      return handedOn > planLimits.handedOnLength ? '' : output;
    }),
  );
  return handedOn > planLimits.handedOnLength ? { kind: 'too-long' } : { kind: 'filled', input: filled as T };
}

/** Whether a value holds objects or lists in more than `levels` levels. */
export function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}

/** By recursion: for what is no deeper than `planLimits.inputDepth`. A key `__proto__` stays the key it is. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => mapStrings(inner, change));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapStrings(inner, change)]));
}
