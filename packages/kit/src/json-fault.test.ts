import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jsonFault } from './json-fault.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('a text that is no JSON', () => {
  it.each([
    ['', 1, 1],
    ['{\n  "name": \n}', 3, 1],
    ['{"a": 1,}', 1, 9],
    ['{"a": 1\n "b": 2}', 2, 2],
    ['[1, 2', 1, 6],
    ['{"a": "b\\x"}', 1, 9],
    ['{"a": 01}', 1, 8],
    ['{a: 1}', 1, 2],
    ['{} x', 1, 4],
    ["{'a': 1}", 1, 2],
  ])('%j stops being one at line %i, column %i', (text, line, column) => {
    expect(jsonFault(text)).toEqual({ line, column });
  });

  it('has a fault, and one that the engine reads has none', () => {
    const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value, null, 1));
    const changed = fc.tuple(
      json,
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', '[', ':', '\\', '0', ' ', '\n', 'null'),
    );
    const text = changed.map(([whole, at, put]) => {
      const index = at % (whole.length + 1);
      return whole.slice(0, index) + put + whole.slice(index + 1);
    });
    fc.assert(
      fc.property(fc.oneof(json, text, fc.string()), (each) => {
        expect(jsonFault(each) === null, each).toBe(isJson(each));
      }),
    );
  });

  it('has its fault found however deep it is, and however long its strings', () => {
    expect(jsonFault('['.repeat(1_000_000))).toEqual({ line: 1, column: 1_000_001 });
    expect(jsonFault(`"${'\\n'.repeat(500_000)}`)).toEqual({ line: 1, column: 1_000_002 });
  });
});
