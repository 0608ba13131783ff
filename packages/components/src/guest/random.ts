/** Gives components random numbers (`wasi:random`). */

const mostBytes = 16n * 1024n * 1024n;

function bytes(length: bigint): Uint8Array {
  if (length > mostBytes) throw new Error(`more than ${mostBytes} random bytes were asked for at once`);
  // Loaded with the first use: it takes 5 ms of the start of a process, and few components ask.
  return process.getBuiltinModule('node:crypto').randomBytes(Number(length));
}

function number64(): bigint {
  return Buffer.from(bytes(8n)).readBigUInt64LE();
}

/** `wasi:random/random` */
export const random = { getRandomBytes: bytes, getRandomU64: number64 };

/** `wasi:random/insecure`: as good as the secure one. */
export const insecure = { getInsecureRandomBytes: bytes, getInsecureRandomU64: number64 };

interface InsecureSeed {
  insecureSeed(): [bigint, bigint];
}

/** `wasi:random/insecure-seed`: most components ask at their start, so the session has made one ready. */
export function insecureSeed(seed: readonly [bigint, bigint]): InsecureSeed {
  return { insecureSeed: () => [...seed] };
}
