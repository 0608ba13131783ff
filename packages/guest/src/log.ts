/** Writes lines for whoever runs the capsule. */

import { getStderr } from 'wasi:cli/stderr@0.2.12';

/** Writes a line to standard error. That of a hook is kept in its log; that of a tool or a driver is shown when the call breaks off. */
export function log(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  using stream = getStderr();
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + Math.max(1, stream.checkWrite()));
    stream.write(bytes.subarray(at, end));
    at = end;
  }
  stream.blockingFlush();
}
