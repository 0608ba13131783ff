/** Writes bytes to a stream of the host, no more at a time than it has room for. */

import type { OutputStream } from 'wasi:io/streams@0.2.12';

/** Writes all of `bytes`, and waits where the host has no room for more. Throws when the stream is closed or broken. */
export function writeWhole(stream: Pick<OutputStream, 'checkWrite' | 'write' | 'subscribe'>, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    const room = stream.checkWrite();
    if (room > 0) {
      stream.write(bytes.subarray(at, at + room));
      at += room;
      continue;
    }
    using writable = stream.subscribe();
    writable.block();
  }
}
