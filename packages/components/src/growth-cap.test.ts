import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { capGrowth, type CapOutcome } from './growth-cap.ts';
import { encodeUnsigned, MalformedWasm } from './core-module.ts';

const header = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const page = 65_536;

/** A module that defines memories of these sizes in pages, each exported as `m<index>`. */
function moduleWith(...memories: readonly { readonly min: number; readonly max?: number }[]): Uint8Array {
  const limits = memories.flatMap(({ min, max }) =>
    max === undefined ? [0, ...leb(min)] : [1, ...leb(min), ...leb(max)],
  );
  const names = memories.flatMap((_, index) => [2, 0x6d, 0x30 + index, 2, ...leb(index)]);
  return Uint8Array.from([
    ...header,
    ...section(5, [...leb(memories.length), ...limits]),
    ...section(7, [...leb(memories.length), ...names]),
  ]);
}

function section(id: number, body: readonly number[]): number[] {
  return [id, ...leb(body.length), ...body];
}

function leb(value: number): number[] {
  return encodeUnsigned(BigInt(value));
}

function tables(count: number): Uint8Array {
  const types = Array.from({ length: count }, () => [0x70, 0x00, 0]).flat();
  return Uint8Array.from([...header, ...section(4, [...leb(count), ...types])]);
}

/** A module whose section claims that number of entries and has none of them. */
function counting(id: number, count: number): Uint8Array {
  return Uint8Array.from([...header, ...section(id, leb(count))]);
}

function capped(outcome: CapOutcome): readonly Uint8Array[] {
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome.modules.map(({ bytes }) => bytes);
}

/** How many pages a module's memory can really grow to. */
function growsTo(module: Uint8Array): number {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module));
  const memory = exports['m0'] as WebAssembly.Memory & { grow(pages: number): number };
  try {
    for (let at = 0; at < 10_000; at += 1) memory.grow(1);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return memory.buffer.byteLength / page;
}

describe('the memory cap', () => {
  it('stops the growth of a memory without a maximum', () => {
    const [module] = capped(capGrowth([moduleWith({ min: 2 })], 20 * page));
    expect(growsTo(module as Uint8Array)).toBe(20);
  });

  it('leaves a lower maximum as it is', () => {
    const [module] = capped(capGrowth([moduleWith({ min: 2, max: 5 })], 20 * page));
    expect(growsTo(module as Uint8Array)).toBe(5);
  });

  it('lowers a higher maximum', () => {
    const [module] = capped(capGrowth([moduleWith({ min: 2, max: 50 })], 20 * page));
    expect(growsTo(module as Uint8Array)).toBe(20);
  });

  it('covers all memories of a component', () => {
    const modules = capped(capGrowth([moduleWith({ min: 2 }), moduleWith({ min: 6 })], 20 * page));
    expect(modules.map((module) => growsTo(module))).toEqual([8, 12]);
  });

  it('gives a memory that starts empty one page, and the rest to the others', () => {
    const modules = capped(capGrowth([moduleWith({ min: 2 }), moduleWith({ min: 0 })], 20 * page));
    expect(modules.map((module) => growsTo(module))).toEqual([19, 1]);
  });

  it('refuses a component that starts with more', () => {
    expect(capGrowth([moduleWith({ min: 20 }), moduleWith({ min: 1 })], 20 * page)).toEqual({
      kind: 'refused',
      reason: 'it needs 1344 KiB of memory and may have 1280 KiB',
    });
  });

  it('counts tables and memories together', () => {
    const tables = Uint8Array.from([...header, ...section(4, [1, 0x70, 0x00, ...leb(1_024)])]);
    expect(capGrowth([tables, moduleWith({ min: 3 })], 4 * page)).toMatchObject({ kind: 'capped' });
    expect(capGrowth([tables, moduleWith({ min: 4 })], 4 * page)).toEqual({
      kind: 'refused',
      reason: 'it needs 320 KiB of memory and may have 256 KiB',
    });
  });

  it('covers tables too, which share an eighth of what is left', () => {
    const tables = Uint8Array.from([...header, ...section(4, [2, 0x70, 0x00, 5, 0x6f, 0x01, 5, 7])]);
    const [result] = capped(capGrowth([tables], 1024 * 1024));
    // Together (1 MiB - 640 bytes) / 8 / 64 bytes an entry, half of it for each; the second is declared to need less.
    expect(Array.from(result ?? []).slice(8)).toEqual([4, 10, 2, 0x70, 0x01, 5, ...leb(5 + 1_023), 0x6f, 0x01, 5, 7]);
  });

  it.each([
    ['modules', Array.from({ length: 1_001 }, () => Uint8Array.from(header)), 1_001, 1_000],
    ['memories', Array.from({ length: 101 }, () => moduleWith({ min: 0 })), 101, 100],
    ['tables', Array.from({ length: 21 }, () => tables(50)), 1_050, 1_000],
    ['globals', [counting(6, 100_001)], 100_001, 100_000],
    ['functions', [counting(3, 1_000_001)], 1_000_001, 1_000_000],
  ])('refuses a component with too many %s', (what, modules, count, most) => {
    expect(capGrowth(modules, 1024 * page)).toEqual({
      kind: 'refused',
      reason: `it has ${count} ${what} and may have ${most}`,
    });
  });

  it('returns a module without a memory untouched', () => {
    const module = Uint8Array.from(header);
    const modules = [{ bytes: module, grows: false }];
    expect(capGrowth([module], page)).toEqual({ kind: 'capped', modules, maxFunction: 0 });
  });

  it('says how long the longest function of any module is', () => {
    const body = (size: number): number[] => leb(size).concat(Array<number>(size).fill(0xff));
    const bodies = (...sizes: number[]): Uint8Array =>
      Uint8Array.from([...header, ...section(10, leb(sizes.length).concat(...sizes.map(body)))]);
    expect(capGrowth([bodies(3, 20_000, 5), bodies(), bodies(128)], page)).toMatchObject({ maxFunction: 20_000 });
  });

  it('comes to an end in functions that are shorter than they say', () => {
    const lying = Uint8Array.from([...header, ...section(10, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]);
    expect(capGrowth([lying], page)).toMatchObject({ kind: 'capped' });
  });

  it('writes a memory of 64-bit addresses with its flag', () => {
    const module = Uint8Array.from([...header, ...section(5, [1, 0x04, 1])]);
    const [result] = capped(capGrowth([module], 300 * page));
    expect(Array.from(result ?? []).slice(8)).toEqual([5, 5, 1, 0x05, 1, 0xac, 0x02]);
  });

  it('counts every memory of a module that has several', () => {
    const module = Uint8Array.from([...header, ...section(5, [2, 0, 1, 0, 1])]);
    const [result] = capped(capGrowth([module], 10 * page));
    expect(Array.from(result ?? []).slice(8)).toEqual([5, 7, 2, 1, 1, 5, 1, 1, 5]);
  });

  it.each([
    ['nothing', []],
    ['another format', [0x50, 0x4b, 0x03, 0x04, 0, 0, 0, 0]],
    ['a component', [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]],
    ['a section longer than the file', [...header, 5, 100, 1]],
    ['a count of four thousand million memories', [...header, ...section(5, [0xff, 0xff, 0xff, 0xff, 0x0f])]],
    ['a number that does not end', [...header, ...section(5, [1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]],
    ['bytes behind the memories', [...header, ...section(5, [1, 0, 1, 9])]],
    ['a table of a kind that is not offered', [...header, ...section(4, [1, 0x6e, 0, 1])]],
    ['a table with a value for each entry', [...header, ...section(4, [1, 0x40, 0, 0x70, 0, 1])]],
    ['a struct', [...header, ...section(1, [1, 0x5f, 1, 0x7f, 0])]],
    ['an array in a group', [...header, ...section(1, [1, 0x4e, 1, 0x5e, 0x7f, 1])]],
    ['a function that is given an exception', [...header, ...section(1, [1, 0x60, 1, 0x69, 0])]],
    ['a memory shared between threads', [...header, ...section(5, [1, 3, 1, 2])]],
    ['unknown flags', [...header, ...section(5, [1, 0x40, 1])]],
  ])('refuses to read %s', (_, bytes) => {
    expect(() => capGrowth([Uint8Array.from(bytes)], page)).toThrow(MalformedWasm);
  });

  it('never lets memories that do start grow past the cap together', () => {
    const memory = fc.record({
      min: fc.integer({ min: 0, max: 40 }),
      more: fc.option(fc.integer({ min: 0, max: 60 })),
    });
    fc.assert(
      fc.property(fc.array(memory, { maxLength: 5 }), fc.integer({ min: 0, max: 200 }), (memories, pages) => {
        const modules = memories.map(({ min, more }) => moduleWith(more === null ? { min } : { min, max: min + more }));
        const outcome = capGrowth(modules, pages * page);
        if (outcome.kind === 'refused') return;
        const total = capped(outcome).reduce((sum, module) => sum + growsTo(module), 0);
        expect(total).toBeLessThanOrEqual(pages);
      }),
      { numRuns: 50 },
    );
  });

  it('never fails in another way, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (tail) => {
        try {
          capGrowth([Uint8Array.from([...header, ...tail])], page);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedWasm);
        }
      }),
    );
  });
});
