import { expect, it } from 'vitest';

import { encodeUnsigned } from '../core-module.ts';
import { harmfulName } from './harmless-component.ts';

/** A module that exports one memory under this name. */
function moduleNaming(name: string): Uint8Array {
  const text = Buffer.from(name);
  const exports = [1, ...encodeUnsigned(BigInt(text.length)), ...text, 2, 0];
  const header = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
  const memorySection = [5, 3, 1, 0, 1];
  return Uint8Array.from([...header, ...memorySection, 7, ...encodeUnsigned(BigInt(exports.length)), ...exports]);
}

it.each([
  '',
  'memory',
  'wasi:io/streams@0.2.0',
  '[method]input-stream.read',
  '$imports',
  'a b<c>,(d)*&{e}',
  '_ZN4core3fmtE',
])('harmfulName takes the name %j', (name) => {
  expect(harmfulName(moduleNaming(name))).toBeNull();
});

it.each(["a'", 'a"', 'a`', 'a\\', 'a\nb', 'a\rb', 'a\u2028b', 'a*/b', 'a\0', 'a\u007f', 'é', "x': run(), 'y"])(
  'harmfulName finds the name %j',
  (name) => {
    expect(harmfulName(moduleNaming(name))).toBe(name);
  },
);
