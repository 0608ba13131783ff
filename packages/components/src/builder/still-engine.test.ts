import { describe, expect, it } from 'vitest';

import { stillEngine } from './still-engine.ts';

const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
const section = (id: number, body: readonly number[]): number[] =>
  [id, (body.length & 0x7f) | 0x80, body.length >> 7, body].flat();
const vector = (items: readonly (readonly number[])[]): number[] => [items.length, ...items.flat()];
const functionImport = (module: string, name: string, type: number): number[] => [
  ...text(module),
  ...text(name),
  0,
  type,
];

const seed = functionImport('wasi:random/insecure-seed@0.2.9', 'insecure-seed', 1);
const monotonic = functionImport('wasi:clocks/monotonic-clock@0.2.9', 'now', 2);
const wall = functionImport('wasi:clocks/wall-clock@0.2.9', 'now', 1);
/** Asks all three: the seed into memory at 0, the clocks at 16 and 24. */
const asks = [0x41, 0, 0x10, 0, 0x41, 16, 0x10, 1, 0x37, 3, 0, 0x41, 24, 0x10, 2, 0x0b];

interface Shape {
  readonly imports?: readonly (readonly number[])[];
  readonly code?: readonly number[];
  readonly initName?: string;
}

/** A module that asks as the engine does, in `init` and in `ask`. */
function engine({ imports = [seed, monotonic, wall], code = asks, initName = 'init' }: Shape = {}): Uint8Array {
  const types = vector([
    [0x60, 0, 0],
    [0x60, 1, 0x7f, 0],
    [0x60, 0, 1, 0x7e],
  ]);
  const first = imports.length;
  const exports = vector([
    [...text(initName), 0, first],
    [...text('ask'), 0, first + 1],
    [...text('memory'), 2, 0],
  ]);
  const body = [code.length + 1, 0, ...code];
  const sections = [
    ...section(1, types),
    ...section(2, vector(imports)),
    ...section(3, [2, 0, 0]),
    ...section(5, [1, 0, 1]),
    ...section(6, [1, 0x7f, 0, 0x41, 5, 0x0b]),
    ...section(7, exports),
    ...section(10, vector([body, body])),
  ];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections]);
}

describe('an engine made still', () => {
  it('gets the same answer until init has returned, and afterwards what the host says', () => {
    const view = (): BigUint64Array =>
      new BigUint64Array((exports['memory'] as { readonly buffer: ArrayBuffer }).buffer, 0, 5);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(stillEngine(engine())), {
      'wasi:random/insecure-seed@0.2.9': { 'insecure-seed': (at: number) => view().set([7n, 8n], at / 8) },
      'wasi:clocks/monotonic-clock@0.2.9': { now: () => 9n },
      'wasi:clocks/wall-clock@0.2.9': { now: (at: number) => view().set([10n, 11n], at / 8) },
    });
    view().fill(99n);
    (exports['init'] as () => void)();
    // The nanoseconds of the wall clock are 32 bits.
    expect([...view()]).toEqual([0n, 0n, 0n, 315_532_800n, 0n]);
    (exports['ask'] as () => void)();
    expect([...view()]).toEqual([7n, 8n, 9n, 10n, 11n]);
  });

  it.each<[string, Shape, string]>([
    [
      'without one of the clocks',
      { imports: [seed, wall] },
      'monotonic-clock@[^#]*#now$ is imported 0 times, not once',
    ],
    ['with a clock twice', { imports: [seed, monotonic, wall, monotonic] }, 'is imported 2 times, not once'],
    ['without init', { initName: 'begin' }, 'its init is exported 0 times, not once'],
    [
      'that never asks for the seed',
      { code: [0x41, 16, 0x10, 1, 0x37, 3, 0, 0x41, 24, 0x10, 2, 0x0b] },
      'it never asks',
    ],
    ['with an unknown instruction', { code: [0xff, ...asks] }, 'it has the unknown instruction 0xff'],
    ['that takes a reference to a function', { code: [0xd2, 0, 0x1a, ...asks] }, 'it has the unknown instruction 0xd2'],
  ])('fails for %s', (_, shape, reason) => {
    expect(() => stillEngine(engine(shape))).toThrow(reason);
  });

  it('fails wherever it ends too early', () => {
    const whole = engine();
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => stillEngine(whole.subarray(0, length)), `${length} bytes`).toThrow('the module is malformed');
    }
  });

  it('fails when it is not a core module', () => {
    expect(() => stillEngine(Buffer.from('\0asm\x0d\0\x01\0', 'latin1'))).toThrow('it does not start as a core module');
  });
});
