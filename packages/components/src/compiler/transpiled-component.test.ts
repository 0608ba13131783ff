import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeTranspiled, encodeTranspiled } from './transpiled-component.ts';

const component = {
  componentSha256: 'ab'.repeat(32),
  imports: ['svc:text/chunks'],
  interfaces: ['svc:text/chunks@0.1.0'],
  glue: '(() => "ü")()',
  glueSha256: 'cd'.repeat(32),
  modules: [
    { name: 'a.wasm', bytes: Buffer.from([1, 2, 3]) },
    { name: 'b.wasm', bytes: Buffer.alloc(0) },
  ],
};

describe('the file of a transpiled component', () => {
  it('gives back what was written', () => {
    expect(decodeTranspiled(encodeTranspiled(component))).toEqual(component);
  });

  it('is not read when any byte of it is missing or another', () => {
    const file = encodeTranspiled(component);
    fc.assert(
      fc.property(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const altered = Uint8Array.from(file);
        altered[at] = (altered[at] ?? 0) ^ change;
        expect(decodeTranspiled(altered)).toBeNull();
        expect(decodeTranspiled(file.subarray(0, at))).toBeNull();
      }),
    );
  });
});
