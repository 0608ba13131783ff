/** Writes lines for whoever runs the capsule. */

import { getStderr } from 'wasi:cli/stderr@0.2.12';

import { writeWhole } from './write-whole.ts';

/** Writes a line to standard error. That of a hook is kept in its log; that of a tool or a driver is shown when the call breaks off. */
export function log(line: string): void {
  using stream = getStderr();
  writeWhole(stream, new TextEncoder().encode(`${line}\n`));
  stream.blockingFlush();
}
