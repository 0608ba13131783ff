import type { Readable } from 'node:stream';

import { readOutput } from './read-output.ts';

export type OutputLine =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  /** What stood after the last line end when the output was closed; not empty. */
  | { readonly kind: 'rest'; readonly bytes: Buffer }
  /** A line passed the limit; reading stops with it and closes the output. */
  | { readonly kind: 'too-long' };

const lineFeed = 0x0a;

/** The lines of an output, without their line feeds. Holds at most `maxBytes` and one chunk. */
export async function* readLines(output: Readable, maxBytes: number): AsyncGenerator<OutputLine, void, undefined> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of readOutput(output)) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      if (heldBytes + end - start > maxBytes) return yield { kind: 'too-long' };
      yield { kind: 'line', bytes: Buffer.concat([...held, chunk.subarray(start, end)]) };
      held = [];
      heldBytes = 0;
      start = end + 1;
    }
    held.push(chunk.subarray(start));
    heldBytes += chunk.length - start;
    if (heldBytes > maxBytes) return yield { kind: 'too-long' };
  }
  if (heldBytes > 0) yield { kind: 'rest', bytes: Buffer.concat(held) };
}
