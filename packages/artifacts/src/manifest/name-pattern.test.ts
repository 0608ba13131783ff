import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inProcessorTime } from '../../../../test/support/processor-time.ts';
import { matchesPattern } from './name-pattern.ts';

describe('a pattern', () => {
  it.each([
    ['acme-*', 'acme-tool', true],
    ['acme-*', 'acme-', true],
    ['acme-*', 'acme', false],
    ['acme-*', 'xacme-tool', false],
    ['*', 'anything', true],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['ab*ba', 'aba', false],
    ['*a*', 'bab', true],
    ['**', 'x', true],
    ['github.com', 'githubXcom', false],
    ['g.thub', 'github', false],
    ['a?', 'ab', false],
    ['https://github.com/acme/*/x', 'https://github.com/acme/tools/x', true],
    ['https://github.com/acme/*/x', 'https://github.com/acme/tools/deep/x', false],
    ['https://github.com/acme/*/x', 'https://github.com/acme//x', true],
    ['https://github.com/acme/*', 'https://github.com/acme/a/b', false],
    ['https://github.com/acme/*', 'https://github.com/acme/a\n', true],
    ['release.yml@refs/tags/*', 'release.yml@refs/tags/v1.0.0', true],
    ['release.yml@refs/tags/*', 'release.yml@refs/heads/tags', false],
  ])('%j against %j: %s', (pattern, text, matches) => {
    expect(matchesPattern(pattern, text)).toBe(matches);
  });

  const piece = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', '(', '$', '\n', '@') });
  const segment = fc.oneof(
    piece,
    fc.constant('*'),
    fc.tuple(piece, piece).map((both) => both.join('*')),
  );
  const anyPattern = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));

  it('without a star matches itself and nothing else', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(!one.includes('*'));
        expect(matchesPattern(one, one)).toBe(true);
        expect(matchesPattern(one, other)).toBe(one === other);
      }),
    );
  });

  it('never matches across a slash', () => {
    fc.assert(
      fc.property(anyPattern, fc.array(piece, { minLength: 1, maxLength: 8 }), (pattern, parts) => {
        const isLongerOrShorter = parts.length !== pattern.split('/').length;
        expect(isLongerOrShorter && matchesPattern(pattern, parts.join('/'))).toBe(false);
      }),
    );
  });

  it('matches whatever its stars are filled with, unless that is a slash', () => {
    fc.assert(
      fc.property(anyPattern, fc.array(piece, { minLength: 10, maxLength: 10 }), (pattern, fillings) => {
        let at = 0;
        const text = pattern.replaceAll('*', () => fillings[at++] ?? '');
        expect(matchesPattern(pattern, text)).toBe(true);
        if (!pattern.includes('*')) return;
        expect(matchesPattern(pattern, pattern.replaceAll('*', '/'))).toBe(false);
      }),
    );
  });

  it('says what an anchored regular expression says', () => {
    fc.assert(
      fc.property(anyPattern, fc.array(piece, { minLength: 1, maxLength: 5 }), (pattern, parts) => {
        const text = parts.join('/');
        const escaped = pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, (one) => (one === '*' ? '[^/]*' : `\\${one}`));
        expect(matchesPattern(pattern, text)).toBe(new RegExp(`^${escaped}$`).test(text));
      }),
    );
  });

  it('matches in linear time on an adversarial text', () => {
    const { value, ms } = inProcessorTime(() => matchesPattern(`${'*a'.repeat(200)}b`, 'a'.repeat(100_000)));
    expect(value).toBe(false);
    expect(ms).toBeLessThan(1_000);
  });
});
