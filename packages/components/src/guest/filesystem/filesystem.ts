/** Gives components the directories that they were granted (`wasi:filesystem`). */

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { GivenDirectory } from '../../exchange.ts';
import { IoError, type WaitingRoom } from '../io.ts';
import { DescriptorBudget, DirectoryEntryStream } from './directory-entry-stream.ts';
import { type Change, DecidedChanges } from './decided-changes.ts';
import { Descriptor } from './descriptor.ts';
import { Mask } from './mask.ts';

export interface FilesystemRules {
  /** Called with the path and the code of what is refused. */
  readonly onRefused?: (path: string, code: string) => void;
  /** Asked about each change of a file; null where all may be done that the directories allow. */
  readonly mayChange?: ((change: Change) => boolean) | null;
}

/**
 * `wasi:filesystem`, by interface, over the given directories. They are held, so a directory that is renamed or replaced later stays what it
 * was.
 */
export function filesystem(
  directories: readonly GivenDirectory[],
  room: WaitingRoom,
  { onRefused = () => {}, mayChange = null }: FilesystemRules = {},
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const budget = new DescriptorBudget();
  const roots = directories.map(({ guestPath, place, writable, masked, maskedNames, fixed }) => {
    const directory = typeof place === 'number' ? HeldDirectory.of(place) : HeldDirectory.checked(place);
    const shown = (path: string): string => (guestPath === '/' ? path : `${guestPath.slice(1)}/${path}`);
    const mount = {
      writable,
      budget,
      room,
      mask: masked === undefined ? null : new Mask(masked, maskedNames, fixed),
      changes: mayChange === null ? null : new DecidedChanges({ root: directory, shown, mayChange, onRefused }),
      onRefused: (path: string, code: string) => onRefused(shown(path), code),
    };
    return { guestPath, mount, directory };
  });
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
