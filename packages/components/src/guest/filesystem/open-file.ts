/** Opens regular files for a component, and shares each between its descriptor and its streams. */

import { closeSync, constants, fstatSync, readSync, writeSync } from 'node:fs';

import type { HeldDirectory, OpenedChild } from '@svc/kit/files/held-directory.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { alwaysReady, IoError } from '../io.ts';
import { type ByteSink, type ByteSource, closed, raise, readySink } from '../streams.ts';
import { attempt, type ErrorCode, refuse } from './error-code.ts';

const { O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;
const newFileMode = 0o666;
/** How often a file may appear and vanish between two looks at it before that is an answer. */
const openAttempts = 16;
/** For what stands in the place of a regular file. */
const refusals = { link: 'loop', directory: 'is-directory', other: 'not-permitted' } as const;

export interface OpenFlags {
  readonly create?: boolean;
  readonly directory?: boolean;
  readonly exclusive?: boolean;
  readonly truncate?: boolean;
}

export interface DescriptorFlags {
  readonly read?: boolean;
  readonly write?: boolean;
  readonly mutateDirectory?: boolean;
}

export interface FileAccess {
  readonly read: boolean;
  readonly write: boolean;
  readonly create: boolean;
  readonly exclusive: boolean;
  readonly truncate: boolean;
}

/** A file opened for neither is opened for reading, and the component may still do neither. */
export function fileAccess(open: OpenFlags, wanted: DescriptorFlags): FileAccess {
  return {
    read: wanted.read === true,
    write: wanted.write === true || open.truncate === true,
    create: open.create === true,
    exclusive: open.exclusive === true,
    truncate: open.truncate === true,
  };
}

/** Opens a regular file and nothing else: neither links nor devices nor pipes. Returns the descriptor. */
export function openRegularFile(directory: HeldDirectory, name: string, access: FileAccess): number {
  const mode = access.read ? O_RDWR : O_WRONLY;
  const flags = access.write ? mode : O_RDONLY;
  const existing = (): number => descriptorOf(directory.openFile(name, access.truncate ? flags | O_TRUNC : flags));
  const created = (): number => directory.createFile(name, flags, newFileMode);
  if (!access.create) return existing();
  if (access.exclusive) return created();
  for (let attempt = 0; attempt < openAttempts; attempt += 1) {
    const descriptor = unlessErrno(['ENOENT'], existing, null) ?? unlessErrno(['EEXIST'], created, null);
    if (descriptor !== null) return descriptor;
  }
  return refuse('busy');
}

function descriptorOf(found: OpenedChild): number {
  return found.kind === 'file' ? found.fd : refuse(refusals[found.kind]);
}

/** A regular file that a descriptor and the streams made of it share; closed when the last of them lets go. */
export class OpenFile {
  readonly descriptor: number;
  /** Whether it may still be written to. */
  readonly mayWrite: () => boolean;
  #holders = 1;

  constructor(descriptor: number, mayWrite: () => boolean = () => true) {
    this.descriptor = descriptor;
    this.mayWrite = mayWrite;
  }

  hold(): this {
    this.#holders += 1;
    return this;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) closeSync(this.descriptor);
  }

  read(maxBytes: number, offset: bigint): Uint8Array {
    const buffer = new Uint8Array(maxBytes);
    const size = attempt(() => readSync(this.descriptor, buffer, 0, maxBytes, checkedOffset(offset)));
    return buffer.subarray(0, size);
  }

  write(bytes: Uint8Array, offset: bigint): number {
    if (!this.mayWrite()) refuse('not-permitted');
    return attempt(() => writeSync(this.descriptor, bytes, 0, bytes.length, checkedOffset(offset)));
  }

  size(): bigint {
    return attempt(() => fstatSync(this.descriptor, { bigint: true }).size);
  }

  /** Reads from `offset` on until the end of the file. */
  source(offset: bigint, onClose: () => void): ByteSource {
    const file = this.hold();
    let at = offset;
    return {
      read: (maxBytes) => {
        const bytes = asStreamError(() => file.read(maxBytes, at));
        if (bytes.length === 0 && maxBytes > 0) raise(closed);
        at += BigInt(bytes.length);
        return bytes;
      },
      readiness: alwaysReady,
      close: () => {
        file.release();
        onClose();
      },
    };
  }

  /** Writes from `offset` on, or always at the end of the file when that is null. */
  sink(offset: bigint | null, onClose: () => void): ByteSink {
    const file = this.hold();
    let at = offset;
    const write = (bytes: Uint8Array): void =>
      asStreamError(() => {
        for (let written = 0; written < bytes.length;) {
          const size = file.write(bytes.subarray(written), at ?? file.size());
          written += size;
          if (at !== null) at += BigInt(size);
        }
      });
    return readySink(write, () => {
      file.release();
      onClose();
    });
  }
}

function checkedOffset(offset: bigint): number {
  if (offset > BigInt(Number.MAX_SAFE_INTEGER)) refuse('file-too-large');
  return Number(offset);
}

/** A stream has no error codes of its own: the code travels inside the error and `filesystem-error-code` takes it out. */
function asStreamError<Result>(operation: () => Result): Result {
  try {
    return operation();
  } catch (error) {
    if (typeof error !== 'string') throw error;
    const code = error as ErrorCode;
    return raise({ tag: 'last-operation-failed', val: new IoError(`file operation failed: ${code}`, code) });
  }
}
