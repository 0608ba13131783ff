import { fsync } from 'node:fs';
import { promisify } from 'node:util';

import { keepInPlaceOf, openAgentDirectory } from '@svc/kit/files/agent-directory.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { writeAll } from '@svc/kit/files/descriptor-io.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';

const sync = promisify(fsync);

/** Where fetched files are kept, below the accessible workdir (D3 "Agent tools"). */
export const inboxDirectory = 'peer-in';

/**
 * A file on its way into `peer-in/`: under a temporary name until it is whole, through no link that the agent planted. All methods throw, or
 * reject with, the system's errors. `discard` is always called last.
 */
export class IncomingFile {
  readonly #base: HeldDirectory;
  readonly #file: TemporaryFile;
  readonly #name: string;

  /** `name` is the one it is to get. */
  constructor(workdir: string, name: string) {
    this.#name = name;
    this.#base = openAgentDirectory(workdir, inboxDirectory);
    try {
      this.#file = new TemporaryFile(this.#base.path);
    } catch (error) {
      this.#base.close();
      throw error;
    }
  }

  async write(bytes: Buffer): Promise<void> {
    await writeAll(this.#file.fd, bytes);
  }

  /** Gives the file its name; one that was fetched with the same handle before gives way. */
  async keep(): Promise<void> {
    await sync(this.#file.fd);
    keepInPlaceOf(this.#file, this.#base.entry(this.#name));
  }

  /** Closes the file, and removes it unless it was kept. */
  discard(): void {
    try {
      this.#file.close();
    } finally {
      this.#base.close();
    }
  }
}

const longestBytes = 120;
const longestExtension = 16;

/**
 * `<handle_id>-<basename>`: the name under which a fetched file is kept (D3 "Agent tools"). The basename comes from the payload of the
 * handle, which anybody can write: of it stay letters, digits and `.`, `_`, `-`, no dot in front, and a length that every file system takes.
 */
export function inboxName(handleId: string, payloadPath: unknown): string {
  return `${handleId}-${typeof payloadPath === 'string' ? sanitizedBasename(payloadPath) : unnamed}`;
}

const unnamed = 'file';

function sanitizedBasename(path: string): string {
  const basename = path.slice(path.lastIndexOf('/') + 1).normalize('NFC');
  const plain = basename.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '_').replace(/^[._-]+/, '');
  return shortened(plain) || unnamed;
}

/** Cut before its extension, and between two characters. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= longestBytes) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const kept = Buffer.byteLength(extension) <= longestExtension ? extension : '';
  let stem = '';
  let room = longestBytes - Buffer.byteLength(kept);
  for (const character of name) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    stem += character;
  }
  return `${stem}${kept}`;
}
