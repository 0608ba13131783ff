/** Gives components the functions of `svc` itself (text for watchers, questions, completions), for values within bounds. */

import { chunkPieces } from '@svc/protocol/chunk-pieces.ts';
import { offeredInterface, withoutVersion } from '../interface-versions.ts';
import { valueSize } from '../value-size.ts';
import type { Mailbox } from './mailbox.ts';
import type { Imports } from './named-imports.ts';

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
