/** Paths of files in a URL. */

import { decodeStrictUtf8 } from './strict-utf8.ts';

const percent = 0x25;

/** A sound path as a request target holds it. */
export function encodeResourcePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/**
 * The path below an export root that a raw request target names: percent-decoded once, then refused as a whole (undefined) when it is
 * empty, absolute, holds NUL, has a component that is empty, `.` or `..`, or was no well-formed UTF-8 (D3 "Path resolution" 1, 2).
 * Nothing is normalised, and the file system is not touched.
 */
export function parseResourcePath(raw: string): string | undefined {
  const path = percentDecode(raw);
  return path !== undefined && isSoundPath(path) ? path : undefined;
}

/** Whether a decoded path may be looked for at all (D3 "Path resolution" 2). */
export function isSoundPath(path: string): boolean {
  if (path.includes('\0')) return false;
  return path.split('/').every((component) => component !== '' && component !== '.' && component !== '..');
}

function percentDecode(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  const bytes = new Uint8Array(raw.length);
  let length = 0;
  for (let index = 0; index < raw.length; index += 1) {
    let byte = raw.charCodeAt(index);
    if (byte === percent) {
      const digits = raw.slice(index + 1, index + 3);
      if (!/^[0-9a-f]{2}$/i.test(digits)) return undefined;
      byte = Number.parseInt(digits, 16);
      index += 2;
    }
    bytes[length] = byte;
    length += 1;
  }
  return decodeStrictUtf8(bytes.subarray(0, length)) ?? undefined;
}
