/** Says how large a value is that a component gives. */

import { valueLimitBytes } from './exchange.ts';

/** The value is more than one message may hold. */
export class ValueTooLarge extends Error {
  constructor(gave = 'the component gave a value', advice = 'give a part of it, or write it to a file') {
    super(`${gave} of more than ${valueLimitBytes / 1024 / 1024} MiB, in which a character is two bytes: ${advice}`);
    this.name = 'ValueTooLarge';
  }
}

/** What the engine adds to a value: the least it takes for a string or an object, and more for an array of bytes. */
const valueOverhead = 48;
const bytesOverhead = 256;

/** About how many bytes of the session's heap a value takes there. Throws `ValueTooLarge` past the limit. */
export function valueSize(value: unknown): number {
  let size = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    size += valueOverhead;
    if (typeof next === 'string') size += next.length * 2;
    else if (ArrayBuffer.isView(next)) size += bytesOverhead + next.byteLength;
    else if (typeof next === 'object' && next !== null) pushAll(pending, Object.values(next));
    if (size + pending.length * valueOverhead > valueLimitBytes) throw new ValueTooLarge();
  }
  return size;
}

/** One at a time: a spread of a very long list would overflow the stack. */
function pushAll(pending: unknown[], values: readonly unknown[]): void {
  for (const value of values) pending.push(value);
}
