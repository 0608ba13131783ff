/** Compares bearer tokens without showing by the time it takes how far they agree. */

import { createHash, timingSafeEqual } from 'node:crypto';

import type { Secret } from '../diagnostics/secret.ts';

export type BearerCheck = (authorization: string | undefined) => boolean;

/** A check of `Authorization` headers against one token. It takes the same time whatever the header says, and keeps only a hash. */
export function bearerCheck(token: Secret): BearerCheck {
  const expected = digest(Buffer.from(token.reveal(), 'utf8'));
  return (authorization) => {
    const presented = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1];
    // Header values arrive as one character a byte.
    return presented !== undefined && timingSafeEqual(digest(Buffer.from(presented, 'latin1')), expected);
  };
}

// Hashed, any two tokens have the same length.
function digest(token: Buffer): Buffer {
  return createHash('sha256').update(token).digest();
}
