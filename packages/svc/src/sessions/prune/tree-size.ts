/** Measures what a folder takes, without following a link. */

import { lstatSync, opendirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Each level that is looked at holds a descriptor; what lies deeper is not counted. */
const maxLevels = 64;
/** What a folder holds beyond these is not counted. */
const maxEntries = 5_000_000;
const entriesBetweenTurns = 500;

/** Bytes of all files below a name of a directory, or of the file itself; what the system does not show counts nothing. */
export async function treeBytes(parent: HeldDirectory, name: string): Promise<number> {
  const stat = unlessRefused(() => lstatSync(parent.entry(name)), null);
  if (stat === null) return 0;
  if (!stat.isDirectory()) return stat.size;
  const size = new TreeSize();
  await size.enter(parent, name, 0);
  return size.bytes;
}

class TreeSize {
  bytes = 0;
  #looked = 0;

  async enter(parent: HeldDirectory, name: string, level: number): Promise<void> {
    const directory = level > maxLevels ? null : unlessRefused(() => parent.enter(name), null);
    if (directory === null) return;
    try {
      const entries = unlessRefused(() => opendirSync(directory.path), null);
      if (entries === null) return;
      try {
        await this.#measure(directory, entries, level);
      } finally {
        entries.closeSync();
      }
    } finally {
      directory.close();
    }
  }

  async #measure(directory: HeldDirectory, entries: ReturnType<typeof opendirSync>, level: number): Promise<void> {
    for (let entry = entries.readSync(); entry !== null && this.#looked < maxEntries; entry = entries.readSync()) {
      this.#looked += 1;
      if (this.#looked % entriesBetweenTurns === 0) await setImmediate();
      const { name } = entry;
      const stat = unlessRefused(() => lstatSync(directory.entry(name)), null);
      if (stat?.isDirectory() === true) await this.enter(directory, name, level + 1);
      else this.bytes += stat?.size ?? 0;
    }
  }
}
