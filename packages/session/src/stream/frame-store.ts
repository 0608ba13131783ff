/** Keeps the long frames of a session in files, so that they take no memory. */

import { closeSync, constants, openSync, unlinkSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { fillSync, writeAllSync } from '@svc/kit/files/transfer-sync.ts';

/** Bytes that are kept outside the memory of the process until they are released. */
export interface StoredBytes {
  readonly length: number;
  /** At most `most` bytes from `position` on, at least one; null once they are released. Throws `E-RUN-058`. */
  read(position: number, most: number): Buffer | null;
  release(): void;
}

/** A file is given back when all that is in it has been released, so that a few old bytes hold no more than this. */
const segmentBytes = 256 * 1024 * 1024;

/** How much memory frames may take that no file takes, as on a full disk: enough for a session to say how it ends. */
const maxHeldBytes = 16 * 1024 * 1024;

interface Segment {
  readonly descriptor: number;
  /** Where the next bytes go. */
  end: number;
  /** How many pieces have not been released. */
  kept: number;
}

/** Keeps long frames of a session in nameless files of its directory, so that neither a tool nor a model decides how much memory it takes. */
export class FrameStore {
  readonly #directory: string;
  readonly #segments = new Set<Segment>();
  #current: Segment | null = null;
  #made = 0;
  #heldBytes = 0;

  /** `directory` is written to by `svc` alone. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** What no file takes is held in memory, up to 16 MiB in all. Throws `E-RUN-058` beyond that. */
  keep(bytes: Buffer): StoredBytes {
    try {
      return this.#write(bytes);
    } catch (error) {
      if (!(error instanceof Diagnostic) || this.#heldBytes + bytes.length > maxHeldBytes) throw error;
      return this.#held(bytes);
    }
  }

  #held(bytes: Buffer): StoredBytes {
    this.#heldBytes += bytes.length;
    let held: Buffer | null = bytes;
    return {
      length: bytes.length,
      read: (position, most) => held?.subarray(position, position + most) ?? null,
      release: () => {
        if (held !== null) this.#heldBytes -= held.length;
        held = null;
      },
    };
  }

  #write(bytes: Buffer): StoredBytes {
    return this.#guarded(() => {
      const segment = this.#segmentWithRoom();
      const begin = segment.end;
      writeAllSync(segment.descriptor, bytes, begin);
      segment.end += bytes.length;
      segment.kept += 1;
      return this.#stored(segment, begin, bytes.length);
    });
  }

  /** Everything that is kept is gone. */
  close(): void {
    for (const { descriptor } of this.#segments) closeSync(descriptor);
    this.#segments.clear();
    this.#current = null;
  }

  #stored(segment: Segment, begin: number, length: number): StoredBytes {
    let isKept = true;
    return {
      length,
      read: (position, most) => {
        if (!isKept || !this.#segments.has(segment)) return null;
        return this.#guarded(() => readFrom(segment, begin + position, Math.min(most, length - position)));
      },
      release: () => {
        if (!isKept) return;
        isKept = false;
        this.#released(segment);
      },
    };
  }

  #released(segment: Segment): void {
    segment.kept -= 1;
    if (segment.kept > 0 || !this.#segments.has(segment)) return;
    if (segment === this.#current) {
      segment.end = 0;
      return;
    }
    this.#segments.delete(segment);
    closeSync(segment.descriptor);
  }

  #segmentWithRoom(): Segment {
    const current = this.#current;
    if (current !== null && current.end < segmentBytes) return current;
    const segment = { descriptor: this.#openNameless(), end: 0, kept: 0 };
    this.#segments.add(segment);
    this.#current = segment;
    return segment;
  }

  #openNameless(): number {
    const { O_RDWR, O_CREAT, O_EXCL } = constants;
    for (;;) {
      this.#made += 1;
      const path = `${this.#directory}/frames-${this.#made}`;
      try {
        const descriptor = openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600);
        unlinkSync(path);
        return descriptor;
      } catch (error) {
        // Left behind by a process that was killed between the two calls.
        if (!isErrno(error, 'EEXIST')) throw error;
      }
    }
  }

  #guarded<Value>(what: () => Value): Value {
    try {
      return what();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const message = `long frames of the event stream cannot be kept in ${this.#directory}: ${systemReason(error)}`;
      throw new Diagnostic('E-RUN-058', message, {
        hint: 'free space on the disk, then run the capsule again',
        cause: error,
      });
    }
  }
}

function readFrom({ descriptor }: Segment, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, fillSync(descriptor, bytes, position));
}
