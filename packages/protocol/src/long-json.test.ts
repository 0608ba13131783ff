import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parsedJson, type JsonText } from './json-text.ts';
import { readLongJson } from './long-json.ts';

const mebibyte = 1024 * 1024;
/** What makes a text long enough for steps and does not change what it says. */
const room = ' '.repeat(mebibyte);

function read(text: string, maxValues = 32_768): JsonText {
  const reading = readLongJson(Buffer.from(text), maxValues);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}

describe('JSON of megabytes', () => {
  it('has the value that it has when it is parsed at once, names that are numbers, empty or repeated included', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (one, other) => {
        const text = `${room}{"b":${one},"1":${other},"":${one},"__proto__":${one},"b":${other},"s0":"s1"}`;
        const at = read(text);
        const once = parsedJson(text);
        expect(at).toEqual(once);
        expect(JSON.stringify(at)).toBe(JSON.stringify(once));
      }),
    );
  });

  it('parses exactly when it parses at once', () => {
    const token = fc.constantFrom('"', '\\', 'u', '0041', '\\ud83d', '\n', ',', ':', '[', ']', '{', '}', '1', 'a', ' ');
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const text = `${room}["a",${tokens.join('')}]`;
        expect(read(text)).toEqual(parsedJson(text));
      }),
      { numRuns: 300 },
    );
  }, 120_000);

  it.each(['\\n', '\\\\', '\\"', '\\u0041', '\\ud83d\\ude00', '€', '\\n€', 'a\\u00e9'])(
    'has a string of %s whole, wherever its slices end',
    (unit) => {
      for (let shift = 0; shift < 12; shift += 1) {
        const text = `{"a":"${'x'.repeat(shift)}${unit.repeat((2.5 * mebibyte) / unit.length)}"}`;
        expect(read(text), String(shift)).toEqual({ kind: 'json', value: JSON.parse(text) });
      }
    },
  );

  it.each(['\\u12', '\\', '\\x', '\u0001', '\\u1\\"ab'])(
    'does not parse where a string of megabytes ends with %j',
    (end) => {
      expect(read(`["${'\\n'.repeat(mebibyte)}${end}"]`)).toEqual({ kind: 'not-json' });
    },
  );

  it('does not parse where a string has no end, or strings stand side by side', () => {
    expect(read(`["${'\\n'.repeat(mebibyte)}`)).toEqual({ kind: 'not-json' });
    expect(read(`[${'""'.repeat(mebibyte)}]`)).toEqual({ kind: 'not-json' });
  });

  it('takes no step in which ten megabytes of escapes are parsed', () => {
    for (const text of [
      `["${'\\n'.repeat(5 * mebibyte)}"]`,
      `[${Array.from({ length: 32_000 }, () => `"${'\\n'.repeat(160)}"`).join()}]`,
    ]) {
      const reading = readLongJson(Buffer.from(text), 32_768);
      let steps = 0;
      while (reading.next().done !== true) steps += 1;
      expect(steps).toBeGreaterThanOrEqual(19);
    }
  });

  it('holds as many values as it may, and no more', () => {
    expect(read(`${room}[1,2,3]`, 3).kind).toBe('json');
    expect(read(`${room}[1,2,3,4]`, 3)).toEqual({ kind: 'too-many' });
    expect(read(`${room}${'['.repeat(501)}`)).toEqual({ kind: 'too-deep' });
  });
});
