/** Tests what promises to read no more than so many bytes. */

import { expect, it } from 'vitest';

export interface BoundedRead {
  readonly maxBytes: number;
  /** Bytes of this size that the reader has no other reason to refuse; letters without it. */
  readonly content?: (bytes: number) => string;
  /** What the reader makes of bytes that arrive in these pieces; null when it refuses them as too many. */
  readonly read: (pieces: readonly Buffer[]) => Promise<string | null> | string | null;
}

/** What everything promises that reads at most `maxBytes`: those it takes whole, however they arrive, and not one more. */
export function boundedReadContract(
  name: string,
  { maxBytes, read, content = (bytes) => 'x'.repeat(bytes) }: BoundedRead,
): void {
  const cuts: readonly (readonly [string, readonly number[]])[] = [
    ['in one piece', []],
    ['in two pieces', [Math.floor(maxBytes / 2)]],
    ['with its last bytes one by one', [maxBytes - 2, maxBytes - 1, maxBytes]],
  ];

  it.each(cuts)(`${name} takes as much as its limit, %s`, async (_, at) => {
    const text = content(maxBytes);
    expect((await read(cut(text, at))) === text).toBe(true);
  });

  it.each(cuts)(`${name} refuses one byte more than its limit, %s`, async (_, at) => {
    expect(await read(cut(content(maxBytes + 1), at))).toBeNull();
  });

  it(`${name} takes less than its limit`, async () => {
    const text = content(Math.ceil(maxBytes / 3));
    expect((await read(cut(text, [100]))) === text).toBe(true);
  });
}

function cut(text: string, at: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const ends = [...at, bytes.length].filter((end) => end <= bytes.length);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)).filter((piece) => piece.length > 0);
}
