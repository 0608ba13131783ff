import { describe, expect, it } from 'vitest';

import { parseJsonText } from './json-text.ts';

describe('JSON text of an untrusted side', () => {
  it('gives its value', () => {
    expect(parseJsonText('{"a":[1,"\\"]}"]}')).toEqual({ kind: 'json', value: { a: [1, '"]}'] } });
    expect(parseJsonText(' null ')).toEqual({ kind: 'json', value: null });
  });

  it.each(['', '{', '{"a":1}{}', 'undefined', "{'a':1}", '{"a":1,}', '\uFEFF{}'])('gives nothing for %j', (text) => {
    expect(parseJsonText(text)).toEqual({ kind: 'not-json' });
  });

  it('may nest 500 levels and no more', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseJsonText(nested(500)).kind).toBe('json');
    expect(parseJsonText(nested(501))).toEqual({ kind: 'too-deep' });
    expect(parseJsonText(nested(5_000_000))).toEqual({ kind: 'too-deep' });
    expect(parseJsonText('{"a":'.repeat(501) + '1' + '}'.repeat(501))).toEqual({ kind: 'too-deep' });
  });

  it('may hold as many values as it is given, and no more', () => {
    expect(parseJsonText('[{},{},{}]', 7).kind).toBe('json');
    expect(parseJsonText('[{},{},{},{}]', 7)).toEqual({ kind: 'too-many' });
    expect(parseJsonText(JSON.stringify({ a: ',{['.repeat(100) }), 7).kind).toBe('json');
  });

  it('counts no brackets inside strings', () => {
    const text = JSON.stringify({ a: '[{'.repeat(1_000_000), b: '\\"['.repeat(1000) });
    expect(parseJsonText(text).kind).toBe('json');
  });
});
