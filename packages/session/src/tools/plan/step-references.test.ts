import { describe, expect, it } from 'vitest';

import { fillReferences, referencesIn } from './plan.ts';

function filled(input: unknown, outputs: Readonly<Record<string, string>>): unknown {
  const result = fillReferences(input, (id) => outputs[id] ?? 'missing');
  return result.kind === 'filled' ? result.input : result.kind;
}

describe('the references of an input', () => {
  it('count in every string value, however deep, and in no key', () => {
    const input = {
      '{{steps.key.output}}': 1,
      list: ['{{steps.a.output}}', { deep: 'x{{ steps.b-1.output }}y{{steps.c.output}}' }],
    };
    expect(referencesIn(input)).toEqual({ steps: new Set(['a', 'b-1', 'c']), malformed: null });
  });

  it.each([
    ['{{steps.a}}', '{{steps.a}}'],
    ['see {{ steps.a.stdout }}.', '{{ steps.a.stdout }}'],
    ['{{steps.a.output', '{{steps.a.output'],
    ['{{{{steps.a.output}}steps.b.output', null],
    ['${{ steps.a.outputs.sha }}', null],
    ['{{ stepsize }}', null],
    ['{{other}}', null],
  ])('exclude that of %s: %s', (text, malformed) => {
    expect(referencesIn(text).malformed).toBe(malformed);
  });

  it('take short to find in a mebibyte of braces', () => {
    expect(referencesIn('{{ '.repeat(350_000)).steps.size).toBe(0);
    expect(referencesIn(`{{${' '.repeat(1_000_000)}`).steps.size).toBe(0);
  });
});

describe('a filled input', () => {
  it('has the outputs where the references were, and is a copy', () => {
    const input = { whole: '{{steps.a.output}}', within: ['<{{steps.b.output}}{{ steps.a.output }}>'], n: 1, no: null };
    expect(filled(input, { a: 'A', b: 'B' })).toEqual({ whole: 'A', within: ['<BA>'], n: 1, no: null });
    expect(input.whole).toBe('{{steps.a.output}}');
  });

  it('takes an output for text: it is neither read again nor a pattern of replacement', () => {
    expect(filled('{{steps.a.output}}', { a: "{{steps.b.output}} $& $1 $'", b: 'B' })).toBe(
      "{{steps.b.output}} $& $1 $'",
    );
  });

  it('leaves the braces of other languages alone', () => {
    expect(filled('${{steps.a.output}} {{a}}', { a: 'A' })).toBe('${{steps.a.output}} {{a}}');
  });

  it('keeps a key that is named like the prototype of objects', () => {
    const input: unknown = JSON.parse('{"__proto__":{"x":"{{steps.a.output}}"}}');
    const result = filled(input, { a: 'A' });
    expect(JSON.stringify(result)).toBe('{"__proto__":{"x":"A"}}');
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });

  it('holds at most a mebibyte of outputs', () => {
    const a = 'x'.repeat(65_536);
    expect(filled('{{steps.a.output}}'.repeat(16), { a })).toBe('x'.repeat(1_048_576));
    expect(filled(['{{steps.a.output}}'.repeat(16), '{{steps.b.output}}'], { a, b: 'y' })).toBe('too-long');
  });

  it('asks for no output once it would be too long: a stranger’s is fenced each time it is asked for', () => {
    let asked = 0;
    const result = fillReferences('{{steps.a.output}}'.repeat(50_000), () => {
      asked += 1;
      return 'x'.repeat(65_536);
    });
    expect({ kind: result.kind, asked }).toEqual({ kind: 'too-long', asked: 17 });
  });
});
