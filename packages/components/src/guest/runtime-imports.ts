/** Gives components the functions of `svc` itself (text for watchers, questions, completions), for values within bounds. */

import { chunkPieces } from '@svc/protocol/chunk-pieces.ts';
import { offeredInterface, withoutVersion } from '../interface-versions.ts';
import type { Mailbox } from './mailbox.ts';
import type { Imports } from './named-imports.ts';
import { valueLimitBytes } from '../exchange.ts';

/**
 * The functions of the runtime, by interface with the version that is offered. A `posted` one returns at once and has no
 * result; an `awaited` one has a WIT `result` and holds the guest until the runtime has answered.
 */
const functions = {
  [offeredInterface('svc:text/chunks')]: { 'emit-chunk': 'posted', 'emit-thinking-chunk': 'posted' },
  [offeredInterface('svc:task/task')]: { 'request-input': 'awaited' },
  [offeredInterface('svc:runtime/inference')]: { complete: 'awaited' },
} as const;

export function runtimeImports(mailbox: Mailbox): Imports {
  return Object.fromEntries(
    Object.entries(functions).map(([versioned, members]) => [
      withoutVersion(versioned),
      Object.fromEntries(
        Object.entries(members).map(([name, kind]) => [
          camelCase(name),
          forward(mailbox, `${versioned}#${name}`, kind),
        ]),
      ),
    ]),
  );
}

function forward(mailbox: Mailbox, key: string, kind: 'posted' | 'awaited'): (...args: unknown[]) => unknown {
  return (...args) => {
    valueSize(args);
    if (kind === 'awaited') return mailbox.askRuntime(key, args);
    const [text] = args;
    if (typeof text !== 'string') throw new TypeError(`${key} takes a text`);
    // The session handles a message in one go, and other work between two.
    for (const piece of chunkPieces(text)) mailbox.post(key, [piece]);
    return undefined;
  };
}

/** As the compiler spells a WIT name in JavaScript. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The value is more than one message may hold. */
export class ValueTooLarge extends Error {
  constructor() {
    super(
      `the component gave a value of more than ${valueLimitBytes / 1024 / 1024} MiB, in which a character is two bytes: give a part of it, or write it to a file`,
    );
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
