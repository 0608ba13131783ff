import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { encodeTranspiled, openTranspiled, type TranspiledComponent } from './transpiled-component.ts';

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

const none = new Uint8Array();
const decoded = (file: Uint8Array): TranspiledComponent | null => openTranspiled(file)?.with(none) ?? null;

describe('the file of a transpiled component', () => {
  it('gives back what was written', () => {
    expect(decoded(encodeTranspiled(component))).toEqual(component);
  });

  it('counts as missing when any byte of it is missing or another', () => {
    const file = encodeTranspiled(component);
    fc.assert(
      fc.property(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const altered = Uint8Array.from(file);
        altered[at] = (altered[at] ?? 0) ^ change;
        expect(openTranspiled(altered)).toBeNull();
        expect(openTranspiled(file.subarray(0, at))).toBeNull();
      }),
    );
  });
});

describe('the file of a transpiled component with its archive beside it', () => {
  const modules = [
    { name: 'a.wasm', bytes: Buffer.from('the first module') },
    { name: 'own.wasm', bytes: Buffer.from('not in there') },
    { name: 'b.wasm', bytes: Buffer.from('the second') },
  ];
  const archive = Buffer.from('PK.. the second, then the first module, then more');
  const [from, to] = [5, 38];
  const file = encodeTranspiled({ ...component, modules }, { name: 'x-1.0.0.zip', bytes: archive });

  it('has no copy of what is in the archive, and gives all of it back', () => {
    const opened = openTranspiled(file);
    expect(opened?.slice).toMatchObject({ archive: 'x-1.0.0.zip', from, to });
    expect(Buffer.from(file).includes('the first module')).toBe(false);
    const { modules: given = [], ...rest } = opened?.with(archive.subarray(from, to)) ?? {};
    expect({ ...rest, modules: [] }).toEqual({ ...component, modules: [] });
    expect(given.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
      ['a.wasm', 'the first module'],
      ['own.wasm', 'not in there'],
      ['b.wasm', 'the second'],
    ]);
  });

  it('counts as missing with other bytes of the archive, or with fewer', () => {
    const opened = openTranspiled(file);
    const other = Buffer.from(archive.subarray(from, to));
    other[20] = (other[20] ?? 0) ^ 1;
    expect(opened?.with(other)).toBeNull();
    expect(opened?.with(archive.subarray(from, to - 1))).toBeNull();
    expect(opened?.with(none)).toBeNull();
  });
});
