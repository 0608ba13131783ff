/** Paths of files in a URL. */

import { decodePercent } from './strict-utf8.ts';

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
  const path = decodePercent(raw);
  return path !== null && isSoundPath(path) ? path : undefined;
}

/** Whether a decoded path may be looked for at all (D3 "Path resolution" 2). */
export function isSoundPath(path: string): boolean {
  if (path.includes('\0')) return false;
  return path.split('/').every((component) => component !== '' && component !== '.' && component !== '..');
}
