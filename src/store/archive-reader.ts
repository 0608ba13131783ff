import { fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

import type { RegularFile } from './regular-file.ts';

/** Opens the directory of an archive. A malformed one rejects with a plain error. This module is loaded when an archive is read. */
export async function openZip(file: RegularFile): Promise<ZipFile> {
  return await fromRandomAccessReaderPromise(new ArchiveReader(file), file.size, {
    autoClose: false,
    decodeStrings: false,
  });
}

/** The file as yauzl reads it. A position out of bounds, which a hostile archive can name, is an error and not an exception. */
class ArchiveReader extends RandomAccessReader {
  readonly #file: RegularFile;

  constructor(file: RegularFile) {
    super();
    this.#file = file;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.#file.readAt(position, length).then(
      (bytes) => {
        bytes?.copy(buffer, offset);
        callback(null, bytes?.length ?? 0);
      },
      (error: unknown) => callback(error as Error),
    );
  }
}
