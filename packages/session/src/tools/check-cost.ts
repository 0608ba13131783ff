/** Bounds what a check of arguments against a schema may cost where nothing ends it. */

/**
 * Characters of the schema times values of the arguments. A check that comes to it takes a tenth of a second or two where each value fails each
 * part of the schema; most calls come to a hundredth of it.
 */
const maxCost = 256 * 1024;

/** Counting the characters of a text for a `maxLength` takes so much less than looking at a value. */
const charactersPerValue = 256;

/** Whether the check of `args` against a schema of so many characters, without keywords that cost more, is quick even where most of it fails. */
export function isCheap(schemaLength: number, args: unknown): boolean {
  const maxValues = maxCost / Math.max(1, schemaLength);
  const left: unknown[] = [args];
  let values = 0;
  while (left.length > 0) {
    const value = left.pop();
    values += 1;
    if (typeof value === 'string') values += value.length / charactersPerValue;
    else if (Array.isArray(value)) {
      if (values + left.length + value.length > maxValues) return false;
      for (const element of value as unknown[]) left.push(element);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        values += name.length / charactersPerValue;
        left.push(member);
      }
    }
    if (values + left.length > maxValues) return false;
  }
  return true;
}
