import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { openPlanted } from '../../test/closure-support/planted-host.ts';
import { elfLayout, type ElfText, writeElf } from '../../test/closure-support/write-elf.ts';
import { maxBytesRead, parseProgram, type ProgramFormat } from './elf.ts';

/** `FUZZ_RUNS=20000` is the long form. */
const fuzzRuns = Number(process.env['FUZZ_RUNS'] ?? 1000);

function parse(bytes: Buffer | string): ProgramFormat {
  return parseProgram(openPlanted('a file', Buffer.from(bytes)));
}

function broken(text: ElfText, breakIt: (bytes: Buffer) => void): ProgramFormat {
  const bytes = writeElf(text);
  breakIt(bytes);
  return parse(bytes);
}

const program: ElfText = { interpreter: '/lib/ld.so', needed: ['libc.so.6'] };
const dynamicHeader = elfLayout.programHeaders + elfLayout.programHeaderSize;
const { interpreterHeader } = elfLayout;
const firstEntry = interpreterHeader + elfLayout.programHeaderSize;

describe('an ELF file', () => {
  it('says all that the loader goes by', () => {
    const text = { interpreter: '/lib64/ld-linux-x86-64.so.2', needed: ['libb.so', 'liba.so'], soname: 'me.so.1' };
    expect(parse(writeElf({ ...text, runpath: '$ORIGIN/../lib:/opt/lib', noDefaultLibraries: true }))).toEqual({
      kind: 'elf',
      machine: 'x86_64',
      interpreter: '/lib64/ld-linux-x86-64.so.2',
      needed: ['libb.so', 'liba.so'],
      soname: 'me.so.1',
      rpath: [],
      runpath: ['$ORIGIN/../lib', '/opt/lib'],
      noDefaultLibraries: true,
    });
  });

  it('may be for aarch64 as well', () => {
    expect(parse(writeElf({ machine: 'aarch64', rpath: '/a::/b' }))).toEqual({
      kind: 'elf',
      machine: 'aarch64',
      interpreter: null,
      needed: [],
      soname: null,
      rpath: ['/a', '/b'],
      runpath: [],
      noDefaultLibraries: false,
    });
  });

  it('with a RUNPATH has no RPATH', () => {
    expect(parse(writeElf({ rpath: '/a', runpath: '/b' }))).toMatchObject({ rpath: [], runpath: ['/b'] });
  });

  it('needs nothing when it is static', () => {
    expect(parse(writeElf({ static: true }))).toMatchObject({ kind: 'elf', interpreter: null, needed: [] });
  });

  it('can be the node of this machine', () => {
    const bytes = readFileSync(process.execPath);
    expect(parse(bytes)).toMatchObject({ kind: 'elf', needed: expect.arrayContaining(['libc.so.6']) });
  });

  it.each<[string, (bytes: Buffer) => void, string]>([
    ['32 bits', (bytes) => bytes.writeUInt8(1, 4), 'it is a 32-bit program'],
    ['big-endian', (bytes) => bytes.writeUInt8(2, 5), 'it is a big-endian program'],
    ['for RISC-V', (bytes) => bytes.writeUInt16LE(243, 18), 'it is for machine 243'],
  ])('counts as foreign when it is %s', (_, breakIt, reason) => {
    expect(broken(program, breakIt)).toEqual({ kind: 'foreign', reason });
  });

  it.each<[string, (bytes: Buffer) => void, string]>([
    ['an unknown version', (bytes) => bytes.writeUInt8(0, 6), 'its header is not one of ELF version 1'],
    ['an unknown class', (bytes) => bytes.writeUInt8(3, 4), 'its header is not one of ELF version 1'],
    [
      'the type of an object file',
      (bytes) => bytes.writeUInt16LE(1, 16),
      'it is neither a program nor a shared library',
    ],
    ['no program headers', (bytes) => bytes.writeUInt16LE(0, 56), 'it has 0 program headers'],
    ['65,535 program headers', (bytes) => bytes.writeUInt16LE(65_535, 56), 'it has 65535 program headers'],
    [
      '1,170 program headers that are not there',
      (bytes) => bytes.writeUInt16LE(1170, 56),
      'its program headers are not inside the file',
    ],
    [
      'program headers of an odd size',
      (bytes) => bytes.writeUInt16LE(57, 54),
      'its program headers have an unknown size',
    ],
    [
      'program headers past its end',
      (bytes) => bytes.writeBigUInt64LE(1n << 63n, 32),
      'its program headers are not inside the file',
    ],
    [
      'an interpreter past its end',
      (bytes) => bytes.writeBigUInt64LE(1n << 40n, interpreterHeader + 8),
      'the name of its interpreter is not a text',
    ],
    [
      'an interpreter of 4,097 bytes',
      (bytes) => bytes.writeBigUInt64LE(4097n, interpreterHeader + 32),
      'the name of its interpreter is not a text',
    ],
    [
      'an interpreter without an end',
      (bytes) => bytes.writeBigUInt64LE(3n, interpreterHeader + 32),
      'the name of its interpreter is not a text',
    ],
    [
      'two interpreters',
      (bytes) => bytes.writeUInt32LE(3, elfLayout.programHeaders),
      'it names more than one interpreter',
    ],
    [
      'two dynamic sections',
      (bytes) => bytes.writeUInt32LE(2, elfLayout.programHeaders),
      'it has more than one dynamic section',
    ],
    [
      'a dynamic section past its end',
      (bytes) => bytes.writeBigUInt64LE(1n << 40n, dynamicHeader + 8),
      'its dynamic section is not inside the file',
    ],
    [
      'a dynamic section of 2^63 bytes',
      (bytes) => bytes.writeBigUInt64LE(1n << 63n, dynamicHeader + 32),
      'its dynamic section is too large',
    ],
    [
      'a needed name past its strings',
      (bytes) => bytes.writeBigUInt64LE(4000n, firstEntry + 8),
      'a name in its dynamic section is not a text inside the file',
    ],
    [
      'a needed name of no letters',
      (bytes) => bytes.writeBigUInt64LE(0n, firstEntry + 8),
      'it needs a library without a name',
    ],
    [
      'strings in no segment',
      (bytes) => bytes.writeBigUInt64LE(7n, firstEntry + 24),
      'a name in its dynamic section is not a text inside the file',
    ],
    [
      'strings of no size',
      (bytes) => bytes.writeBigUInt64LE(0n, firstEntry + 40),
      'a name in its dynamic section is not a text inside the file',
    ],
  ])('counts as malformed with %s', (_, breakIt, reason) => {
    expect(broken(program, breakIt)).toEqual({ kind: 'malformed', reason });
  });

  it('counts as malformed when it needs 513 libraries', () => {
    const needed = Array.from({ length: 513 }, () => 'l');
    expect(parse(writeElf({ needed }))).toEqual({ kind: 'malformed', reason: 'it needs 513 libraries' });
  });

  it.each(['rpath', 'runpath'])('counts as malformed when its %s has 257 directories', (which) => {
    const path = Array.from({ length: 257 }, (_, index) => `/${index}`).join(':');
    expect(parse(writeElf({ [which]: path }))).toEqual({ kind: 'malformed', reason: 'it names too many directories' });
    expect(parse(writeElf({ [which]: path.replace('/0:', '') }))).toMatchObject({ kind: 'elf' });
  });

  it('can have names that lie far apart, up to a limit', () => {
    const needed = Array.from({ length: 512 }, (_, index) => `${index}`.padStart(4090, 'x'));
    const count = { bytes: 0 };
    const outcome = parseProgram(openPlanted('a file', writeElf({ needed }), count));
    expect(outcome).toMatchObject({ kind: 'malformed' });
    expect(count.bytes).toBeGreaterThan(1024 * 1024);
    expect(count.bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
  });

  it('becomes malformed, another kind of file, or needs less when it is cut anywhere', () => {
    const whole = writeElf(program);
    for (let length = 0; length < whole.length; length += 1) {
      const { kind } = parse(whole.subarray(0, length));
      expect(`${length} ${kind}`).toBe(`${length} ${length < 4 ? 'not-elf' : 'malformed'}`);
    }
  });
});

describe('a script', () => {
  it.each([
    ['#!/bin/sh\necho', '/bin/sh', null],
    ['#! \t/bin/sh \t\n', '/bin/sh', null],
    ['#!/usr/bin/env -S node --x  y \n', '/usr/bin/env', '-S node --x  y'],
    ['#!/bin/sh\r\n', '/bin/sh\r', null],
    ['#!sh', 'sh', null],
    [`#!/bin/sh ${'a'.repeat(300)}\n`, '/bin/sh', 'a'.repeat(246)],
  ])('names its interpreter as the kernel reads it when it begins %j', (text, interpreter, argument) => {
    expect(parse(text)).toEqual({ kind: 'script', interpreter, argument });
  });

  it.each(['#!', '#!\n/bin/sh', '#!   \n', `#!/${'a'.repeat(300)}\n`])(
    'names no interpreter when it begins %j',
    (text) => {
      expect(parse(text)).toEqual({ kind: 'malformed', reason: 'its first line names no interpreter' });
    },
  );

  it.each(['', '#', 'echo', '\x7FEL', '\0\0\0\0'])('cannot begin %j, nor can a program', (text) => {
    expect(parse(text)).toEqual({ kind: 'not-elf' });
  });
});

describe('whatever a file holds, it is read within bounds and nothing is thrown', () => {
  const bytesReadOf = (bytes: Buffer): number => {
    const count = { bytes: 0 };
    parseProgram(openPlanted('a file', bytes, count));
    return count.bytes;
  };

  it('when it is random', () => {
    const magic = fc.constantFrom('', '#!', '\x7FELF', '\x7FELF\x02\x01\x01');
    fc.assert(
      fc.property(magic, fc.uint8Array({ maxLength: 700 }), (start, rest) => {
        const bytes = Buffer.concat([Buffer.from(start, 'latin1'), rest]);
        expect(bytesReadOf(bytes)).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: fuzzRuns },
    );
  });

  it('when it is a real program or library with some of its bytes changed', () => {
    const real = [writeElf({ ...program, runpath: '/a', soname: 'b' }), readFileSync('/bin/sh')];
    const words = fc.constantFrom(0n, 1n, 0xffn, 0xffffn, 0xffff_ffffn, (1n << 53n) - 1n, 1n << 63n, (1n << 64n) - 1n);
    const change = fc.tuple(fc.nat(), fc.oneof(words, fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })), fc.nat(3));
    fc.assert(
      fc.property(fc.constantFrom(...real), fc.array(change, { minLength: 1, maxLength: 6 }), (bytes, changes) => {
        const copy = Buffer.from(bytes);
        for (const [place, value, where] of changes) {
          // Mostly where the numbers are: the headers and, in the small one, the dynamic section.
          const room = where === 0 ? copy.length - 8 : Math.min(copy.length - 8, 1000);
          const at = place % room;
          copy.writeBigUInt64LE(value, where === 1 ? at : at - (at % 8));
        }
        expect(bytesReadOf(copy)).toBeLessThanOrEqual(maxBytesRead);
      }),
      { numRuns: fuzzRuns },
    );
  });
});
