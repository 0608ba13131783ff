/** SHA-256 as hexadecimal text. */

import { hash } from 'node:crypto';

/** A SHA-256 as every file and message of `svc` writes it. */
export const sha256Shape = /^[0-9a-f]{64}$/;

/** The SHA-256 of bytes, or of a text in UTF-8, in that spelling. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content);
}
