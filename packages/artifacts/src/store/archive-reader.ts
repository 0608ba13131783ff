/** Opens the directory of a zip file. */

import { fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

import type { RegularFile } from '@svc/kit/files/regular-file.ts';

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
  /** The end of the archive, which is read first and holds the directory of all but large archives. */
  #end: { readonly bytes: Buffer; readonly position: number } | null = null;

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
    const place = buffer.subarray(offset, offset + length);
    this.#readAt(position, place).then((isThere) => callback(null, isThere ? length : 0), callback);
  }

  async #readAt(position: number, place: Buffer): Promise<boolean> {
    const { size } = this.#file;
    const from = position - (this.#end?.position ?? size);
    if (from >= 0 && position + place.length <= size) return (this.#end?.bytes.copy(place, 0, from) ?? 0) > 0;
    const bytes = await this.#file.readAt(position, place.length, place);
    if (bytes !== null && position + place.length === size) this.#end = { bytes, position };
    return bytes !== null;
  }
}
