/** Checks whether a file is still the one that was looked at. */

import type { BigIntStats } from 'node:fs';

/** Equal for two looks at a path or a descriptor only when it was the same file, and nothing was written to it in between. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}
