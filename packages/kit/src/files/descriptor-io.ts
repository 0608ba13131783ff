/** Reads and writes open files, whole even where the kernel takes them in parts. */

import { closeSync, read, write } from 'node:fs';
import { promisify } from 'node:util';

import { unlessRefused } from './unless-refused.ts';

const readAt = promisify(read);
const writeAt = promisify(write);

/** Closes a descriptor that was only read from: at once, since handing that to another thread would cost more. A failure changes nothing. */
export function release(descriptor: number): void {
  unlessRefused(() => closeSync(descriptor), undefined);
}

export interface Slice {
  readonly descriptor: number;
  readonly target: Buffer;
  readonly position: number;
}

/** Fills as much of `target` as the file has from `position` on; resolves to the bytes read, fewer only at the end of the file. */
export async function fill({ descriptor, target, position }: Slice): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await readAt(descriptor, target, filled, target.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

export async function writeAll(descriptor: number, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await writeAt(descriptor, bytes, written, bytes.length - written, null);
    written += bytesWritten;
  }
}
