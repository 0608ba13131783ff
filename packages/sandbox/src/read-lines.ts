/** Reads an output line by line, within a bound. */

import type { Readable } from 'node:stream';

import { GatheredBytes } from '@svc/kit/gathered-bytes.ts';
import { readOutput } from './read-output.ts';

export type OutputLine =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  /** What stood after the last line end when the output was closed; not empty. */
  | { readonly kind: 'rest'; readonly bytes: Buffer }
  /** A line passed the limit; reading stops with it and closes the output. */
  | { readonly kind: 'too-long' };

const lineFeed = 0x0a;

/** The lines of an output, without their line feeds. Holds at most `maxBytes` and one chunk, however small the pieces are that it comes in. */
export async function* readLines(output: Readable, maxBytes: number): AsyncGenerator<OutputLine, void, undefined> {
  const held = new GatheredBytes();
  for await (const chunk of readOutput(output)) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      if (held.length + end - start > maxBytes) return yield { kind: 'too-long' };
      yield { kind: 'line', bytes: held.takeWith(chunk.subarray(start, end)) };
      start = end + 1;
    }
    held.append(chunk.subarray(start));
    if (held.length > maxBytes) return yield { kind: 'too-long' };
  }
  if (held.length > 0) yield { kind: 'rest', bytes: held.take() };
}
