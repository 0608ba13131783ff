import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { writeLoaderCache } from '../../test/closure-support/write-elf.ts';
import { parseLoaderCache } from './loader-cache.ts';

const lines = [
  { name: 'liba.so.1', path: '/lib/glibc-hwcaps/x86-64-v3/liba.so.1', hwcap: 1n << 62n },
  { name: 'liba.so.1', path: '/lib/liba.so.1' },
  { name: 'liba.so.1', path: '/lib32/liba.so.1', flags: 0x0803 },
  { name: 'liba.so.1', path: '/arm/liba.so.1', flags: 0x0a03 },
];
const sound = writeLoaderCache(lines);
const parsed = new Map([
  [
    'x86_64',
    new Map([
      [
        'liba.so.1',
        [
          { path: '/lib/glibc-hwcaps/x86-64-v3/liba.so.1', variant: true },
          { path: '/lib/liba.so.1', variant: false },
        ],
      ],
    ]),
  ],
  ['aarch64', new Map([['liba.so.1', [{ path: '/arm/liba.so.1', variant: false }]]])],
]);

function changed(change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(sound);
  change(bytes);
  return bytes;
}

describe('the cache of the loader', () => {
  it('says where a library is, by machine, in order, and which are for some processors only', () => {
    expect(parseLoaderCache(sound)).toEqual(parsed);
  });

  it('says names and paths that are not ASCII as they are', () => {
    const path = '/opt/größe/liba.so.1';
    const found = parseLoaderCache(writeLoaderCache([...lines, { name: 'libß.so.1', path }]));
    expect(found.get('x86_64')?.get('libß.so.1')).toEqual([{ path, variant: false }]);
    expect(found.get('x86_64')?.get('liba.so.1')).toHaveLength(2);
  });

  it('comes behind the older format too', () => {
    const old = Buffer.alloc(16 + 3 * 12 + 4);
    old.write('ld.so-1.7.0');
    old.writeUInt32LE(3, 12);
    expect(parseLoaderCache(Buffer.concat([old, sound]))).toEqual(parsed);
  });

  it.each<[string, Buffer]>([
    ['empty', Buffer.alloc(0)],
    ['of another format', changed((bytes) => bytes.write('2', 19))],
    ['big-endian', changed((bytes) => bytes.writeUInt8(3, 28))],
    ['said to have more entries than it has', changed((bytes) => bytes.writeUInt32LE(0xffff_ffff, 20))],
    ['naming a library outside itself', changed((bytes) => bytes.writeUInt32LE(1 << 30, 52))],
    ['naming a library inside its entries', changed((bytes) => bytes.writeUInt32LE(0, 52))],
    ['leading to a path that is not absolute', writeLoaderCache([{ name: 'a', path: 'lib/a' }])],
    ['leading to a path without an end', sound.subarray(0, -1)],
    ['leading to a path of 5,000 bytes', writeLoaderCache([{ name: 'a', path: `/${'a'.repeat(5000)}` }])],
    ['behind an older one that does not end', Buffer.from('ld.so-1.7.0\0\xff\xff\xff\xff', 'latin1')],
  ])('holds nothing when it is %s', (_, bytes) => {
    expect(parseLoaderCache(bytes)).toEqual(new Map());
  });

  it('has 32,768 entries at the most', () => {
    const cacheOf = (count: number): Buffer => {
      const one = writeLoaderCache([{ name: 'a', path: '/a' }]);
      const bytes = Buffer.concat([one.subarray(0, 72), Buffer.alloc((count - 1) * 24), one.subarray(72)]);
      const moved = (count - 1) * 24;
      for (const at of [52, 56]) bytes.writeUInt32LE(bytes.readUInt32LE(at) + moved, at);
      bytes.writeUInt32LE(count, 20);
      return bytes;
    };
    expect(parseLoaderCache(cacheOf(32_768)).get('x86_64')?.get('a')).toEqual([{ path: '/a', variant: false }]);
    expect(parseLoaderCache(cacheOf(32_769))).toEqual(new Map());
  });

  it('gives no fault wherever it is cut and whatever is changed in it', () => {
    for (let length = 0; length < sound.length; length += 1) parseLoaderCache(sound.subarray(0, length));
    fc.assert(
      fc.property(fc.nat(sound.length - 4), fc.nat(0xffff_ffff), (at, value) => {
        parseLoaderCache(changed((bytes) => bytes.writeUInt32LE(value, at)));
      }),
    );
    expect(parseLoaderCache(sound.subarray(0, 48))).toEqual(new Map());
  });
});
