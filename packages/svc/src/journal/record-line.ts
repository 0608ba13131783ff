/** One line of a journal: its number, its kind, and the chain that ties it to the line before. */

import { hash } from 'node:crypto';

/** What the first line is tied to. */
export const firstChain = '0000000000000000';

const chainDigits = 16;
/** `,"c":"0123456789abcdef"}` */
const tailBytes = chainDigits + 8;
const tailShape = /^,"c":"([0-9a-f]{16})"\}$/;
const headShape = /^\{"n":(0|[1-9]\d{0,14}),"k":"([a-z-]{1,16})",/;
const longestHead = 64;

export interface EncodedLine {
  /** With its line feed. */
  readonly line: string;
  readonly chain: string;
}

/** The line of a record: `n` and `k` first, `c` last (docs/journal.md "The chain"). */
export function encodeLine(n: number, { k, ...rest }: { readonly k: string }, previous: string): EncodedLine {
  const text = JSON.stringify({ n, k, ...rest });
  const chain = hash('sha256', previous + text).slice(0, chainDigits);
  return { line: `${text.slice(0, -1)},"c":"${chain}"}\n`, chain };
}

/** What a line says of itself, before anything else in it is read. */
export interface LineHead {
  readonly n: number;
  readonly kind: string;
  readonly chain: string;
}

/** The head of a line without its line feed; null for one that does not begin and end as a record does. */
export function headOf(line: Buffer): LineHead | null {
  const [, n, kind = ''] = headShape.exec(line.toString('latin1', 0, longestHead)) ?? [];
  if (n === undefined || line.length <= tailBytes) return null;
  const [, chain] = tailShape.exec(line.toString('latin1', line.length - tailBytes)) ?? [];
  return chain === undefined ? null : { n: Number(n), kind, chain };
}

let scratch = Buffer.alloc(0);

/** Whether the chain of a line is what the line before and its own text make. */
export function isChained(line: Buffer, { chain }: LineHead, previous: string): boolean {
  const length = chainDigits + line.length - tailBytes + 1;
  if (scratch.length < length) scratch = Buffer.allocUnsafe(length * 2);
  scratch.write(previous, 0, 'latin1');
  line.copy(scratch, chainDigits, 0, line.length - tailBytes);
  scratch[length - 1] = 0x7d;
  return hash('sha256', scratch.subarray(0, length)).startsWith(chain);
}

/** How many bytes before a line hold the chain that it goes on from. */
export const chainBefore: number = chainDigits + 3;

/** The chain at the end of the line before, of the `chainBefore` bytes before a line; null when they end no line. */
export function chainAt(before: Buffer): string | null {
  return /^([0-9a-f]{16})"\}\n$/.exec(before.toString('latin1'))?.[1] ?? null;
}
