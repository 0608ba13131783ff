/** Reads files that are text, and says why others are not read. */

import { FileFault, shown, type FileTree } from './file-tree.ts';

const sniffedBytes = 8192;

/** Bytes, for a sentence. */
export function sized(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [amount, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${amount.toFixed(1)} ${unit}`;
}

/** A text file whole. Throws `FileFault` when it is missing, no file, larger than `maxBytes`, or not text. */
export function readText(tree: FileTree, path: string, maxBytes: number): string {
  const found = tree.stat(path);
  if (found === null) throw new FileFault(`${path} does not exist`);
  if (found.kind === 'directory') throw new FileFault(`${shown(path)} is a directory; use list`);
  if (found.kind === 'other') throw new FileFault(`${path} is not a regular file`);
  const bytes = tree.read(path, maxBytes + 1);
  if (bytes.length > maxBytes) {
    const size = found.kind === 'file' ? ` is ${sized(found.size)} and` : '';
    throw new FileFault(`${path}${size} is too large: the limit is ${sized(maxBytes)}`);
  }
  const text = decodeText(bytes);
  if (text === null) throw new FileFault(`${path} is a binary file of ${sized(bytes.length)}`);
  return text;
}

/** Returns null if the bytes are not text: a NUL near the start, or not UTF-8. A byte order mark stays part of the text. */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, sniffedBytes).includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
