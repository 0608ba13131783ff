/** One line of a journal: its number, its kind, and the chain that ties it to the line before. */

import { hash } from 'node:crypto';

/** What the first line is tied to. */
export const firstChain = '0000000000000000';

/** How many of a hash a chain has. */
export const chainDigits = 16;
/** `,"c":"0123456789abcdef"}` */
export const tailBytes: number = chainDigits + 8;
const kindShape = /^[a-z-]{1,16}$/;
/** `{"n":` and `,"k":"` */
const headStart = Buffer.from('{"n":');
const kindStart = Buffer.from(',"k":"');
const tailStart = Buffer.from(',"c":"');
const maxDigits = 15;
const maxKind = 16;

export interface EncodedLine {
  /** With its line feed. */
  readonly line: string;
  readonly chain: string;
}

/** The line of a record: `n` and `k` first, `c` last (docs/journal.md "The chain"). */
export function encodeLine(n: number, { k, ...rest }: { readonly k: string }, previous: string): EncodedLine {
  const text = `{"n":${n},${JSON.stringify({ k, ...rest }).slice(1, -1)}`;
  const chain = hash('sha256', `${previous}${text}}`).slice(0, chainDigits);
  return { line: `${text},"c":"${chain}"}\n`, chain };
}

/** What a line says of itself, before anything else in it is read. */
export interface LineHead {
  readonly n: number;
  readonly kind: string;
  readonly chain: string;
}

/**
 * The head of a line without its line feed; null for one that does not begin and end as a record does. Looked at byte by byte: a journal of a
 * long session has millions of lines.
 */
export function headOf(line: Buffer): LineHead | null {
  const tail = line.length - tailBytes;
  if (tail <= 0 || !isAt(line, 0, headStart) || !isAt(line, tail, tailStart)) return null;
  let at = headStart.length;
  let n = 0;
  for (; isDigit(line[at]); at += 1) n = n * 10 + (line[at] ?? 0) - 0x30;
  const digits = at - headStart.length;
  if (digits === 0 || digits > maxDigits || (digits > 1 && line[headStart.length] === 0x30)) return null;
  if (!isAt(line, at, kindStart)) return null;
  at += kindStart.length;
  const end = line.indexOf(0x22, at);
  if (end < 0 || end - at > maxKind || line[end + 1] !== 0x2c) return null;
  const kind = kindAt(line, at, end);
  const chain = line.toString('latin1', line.length - 2 - chainDigits, line.length - 2);
  return kind === null || !chainShape.test(chain) || !isAt(line, line.length - 2, lineEnd) ? null : { n, kind, chain };
}

/** Whether a line, which ends at `end` before its line feed, ends as a record does. Makes nothing. */
export function endsAsRecord(bytes: Buffer, end: number): boolean {
  const tail = end - tailBytes;
  if (!isAt(bytes, tail, tailStart) || !isAt(bytes, end - 2, lineEnd)) return false;
  for (let at = tail + tailStart.length; at < end - 2; at += 1) {
    const byte = bytes[at] ?? 0;
    if (!isDigit(byte) && (byte < 0x61 || byte > 0x66)) return false;
  }
  return true;
}

const chainShape = /^[0-9a-f]{16}$/;
const lineEnd = Buffer.from('"}');

function isAt(line: Buffer, at: number, bytes: Buffer): boolean {
  for (let index = 0; index < bytes.length; index += 1) if (line[at + index] !== bytes[index]) return false;
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function kindAt(line: Buffer, from: number, to: number): string | null {
  const kind = line.toString('latin1', from, to);
  return kindShape.test(kind) ? kind : null;
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
