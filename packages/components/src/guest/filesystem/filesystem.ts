/** Gives components the directories that they were granted (`wasi:filesystem`). */

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { GivenDirectory } from '../../exchange.ts';
import { IoError, type WaitingRoom } from '../io.ts';
import { DescriptorBudget, DirectoryEntryStream } from './directory-entry-stream.ts';
import { Descriptor } from './descriptor.ts';
import { Mask } from './mask.ts';

/**
 * `wasi:filesystem`, by interface, over the given directories. They are held, so a directory that is renamed or replaced later stays what it
 * was.
 */
export function filesystem(
  directories: readonly GivenDirectory[],
  room: WaitingRoom,
  onRefused: (path: string, code: string) => void = () => {},
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const budget = new DescriptorBudget();
  const roots = directories.map(({ guestPath, place, writable, masked, maskedNames, fixed }) => ({
    guestPath,
    mount: {
      writable,
      budget,
      room,
      mask: masked === undefined ? null : new Mask(masked, maskedNames, fixed),
      onRefused: (path: string, code: string) =>
        onRefused(guestPath === '/' ? path : `${guestPath.slice(1)}/${path}`, code),
    },
    directory: typeof place === 'number' ? HeldDirectory.of(place) : HeldDirectory.checked(place),
  }));
  return {
    'wasi:filesystem/preopens': {
      getDirectories: () => {
        // It has no result to be refused with: past the limit this is a trap.
        if (!budget.has(roots.length)) throw new Error('more files and directories are open than may be');
        return roots.map(({ guestPath, mount, directory }) => [
          new Descriptor(mount, { kind: 'directory', directory: directory.again() }),
          guestPath,
        ]);
      },
    },
    'wasi:filesystem/types': {
      Descriptor,
      DirectoryEntryStream,
      filesystemErrorCode: (error: unknown) =>
        error instanceof IoError && typeof error.code === 'string' ? error.code : undefined,
    },
  };
}
