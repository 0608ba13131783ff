import { randomBytes } from 'node:crypto';

const mostBytes = 16n * 1024n * 1024n;

function bytes(length: bigint): Uint8Array {
  if (length > mostBytes) throw new Error(`more than ${mostBytes} random bytes were asked for at once`);
  return randomBytes(Number(length));
}

function number64(): bigint {
  return randomBytes(8).readBigUInt64LE();
}

/** `wasi:random/random` */
export const random = { getRandomBytes: bytes, getRandomU64: number64 };

/** `wasi:random/insecure`: as good as the secure one. */
export const insecure = { getInsecureRandomBytes: bytes, getInsecureRandomU64: number64 };

/** `wasi:random/insecure-seed` */
export const insecureSeed = { insecureSeed: (): [bigint, bigint] => [number64(), number64()] };
