import type { Preopen } from '../../component.ts';
import type { FilesystemGuard } from '../../filesystem-guard.ts';
import { IoError, type WaitingRoom } from '../io.ts';
import { CheckedDirectory } from './checked-directory.ts';
import { DescriptorBudget } from './descriptor-budget.ts';
import { DescriptorDirectory } from './descriptor-directory.ts';
import { Descriptor } from './descriptor.ts';
import { DirectoryEntryStream } from './directory-entry-stream.ts';

/**
 * `wasi:filesystem`, by interface, over the given directories. They are opened here and held, so a directory that is renamed
 * or replaced later stays what it was. A directory that cannot be opened throws the operating system's refusal.
 */
export function filesystem(
  preopens: readonly Preopen[],
  { room, guard }: { readonly room: WaitingRoom; readonly guard: FilesystemGuard },
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const budget = new DescriptorBudget();
  const Directory = guard === 'descriptor-walk' ? DescriptorDirectory : CheckedDirectory;
  const roots = preopens.map(({ guestPath, hostPath, writable }) => ({
    guestPath,
    mount: { writable, budget, room },
    directory: Directory.open(hostPath),
  }));
  return {
    'wasi:filesystem/preopens': {
      getDirectories: () =>
        roots.map(({ guestPath, mount, directory }) => [
          new Descriptor(mount, { kind: 'directory', directory: directory.again() }),
          guestPath,
        ]),
    },
    'wasi:filesystem/types': {
      Descriptor,
      DirectoryEntryStream,
      filesystemErrorCode: (error: unknown) =>
        error instanceof IoError && typeof error.code === 'string' ? error.code : undefined,
    },
  };
}
