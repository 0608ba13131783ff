import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { platformOfProgram } from './publishable.ts';

/** The start of an ELF header. */
function elf({ machine, order = 1, abi = 0 }: { machine: number; order?: 1 | 2; abi?: number }): Buffer {
  const bytes = Buffer.alloc(64);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, order, 1, abi]).copy(bytes);
  if (order === 1) bytes.writeUInt16LE(machine, 18);
  else bytes.writeUInt16BE(machine, 18);
  return bytes;
}

/** A universal Mach-O file with slices of these types. */
function universal(count: number, ...types: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 + types.length * 20);
  bytes.writeUInt32BE(0xcafebabe, 0);
  bytes.writeUInt32BE(count, 4);
  types.forEach((type, index) => bytes.writeUInt32BE(type, 8 + index * 20));
  return bytes;
}

const mach = (type: string): Buffer => Buffer.concat([Buffer.from(`cffaedfe${type}`, 'hex'), Buffer.alloc(24)]);

it.each([
  ['x86_64 Linux', elf({ machine: 0x3e }), ['linux-x86_64']],
  ['aarch64 Linux', elf({ machine: 0xb7 }), ['linux-aarch64']],
  ['Linux by its ABI', elf({ machine: 0x3e, abi: 3 }), ['linux-x86_64']],
  ['an Intel Mac', mach('07000001'), ['darwin-x86_64']],
  ['an ARM Mac', mach('0c000001'), ['darwin-aarch64']],
  ['both Macs', universal(2, 0x01000007, 0x0100000c), ['darwin-aarch64', 'darwin-x86_64']],
])('a program for %s is known by its first bytes', (_, bytes, platforms) => {
  expect(platformOfProgram(bytes)).toEqual({ kind: 'binary', platforms });
});

it('the program that runs this test is one', () => {
  const { kind } = platformOfProgram(readFileSync(process.execPath).subarray(0, 4096));
  expect(kind).toBe('binary');
});

it('a script is for every platform', () => {
  expect(platformOfProgram(Buffer.from('#!/usr/bin/env node\n'))).toEqual({ kind: 'script' });
  expect(platformOfProgram(Buffer.from('#!'))).toEqual({ kind: 'script' });
});

it.each([
  ['nothing', Buffer.alloc(0)],
  ['less than a header', Buffer.from([0x7f, 0x45, 0x4c, 0x46])],
  ['another machine', elf({ machine: 0x28 })],
  ['another byte order', elf({ machine: 0x3e, order: 2 }).fill(0, 18, 20)],
  ['another system', elf({ machine: 0x3e, abi: 9 })],
  ['a Mac of another kind', mach('12000000')],
  ['a universal file with an unknown slice', universal(2, 0x01000007, 0x12)],
  ['a universal file that is cut short', universal(3, 0x01000007)],
  ['a Java class', Buffer.concat([Buffer.from('cafebabe0000003d', 'hex'), Buffer.alloc(20)])],
  ['a Windows program', Buffer.from('MZ'.padEnd(64))],
])('%s is not known', (_, bytes) => {
  expect(platformOfProgram(bytes)).toEqual({ kind: 'unknown' });
});
