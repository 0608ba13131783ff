import { array, assert, constantFrom, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseResourcePath } from './resource-path.ts';

describe('the path of a resource', () => {
  it.each([
    ['a.txt', 'a.txt'],
    ['dir/b.txt', 'dir/b.txt'],
    ['dir%2Fb.txt', 'dir/b.txt'],
    ['a%20b+c', 'a b+c'],
    ['%c3%A4', 'ä'],
    ['%25', '%'],
    ['%252e%252e/a', '%2e%2e/a'],
    ['...', '...'],
    ['.hidden', '.hidden'],
    ['a\\..\\b', 'a\\..\\b'],
    ['~', '~'],
    ['%EF%BB%BFa', '\u{feff}a'],
  ])('%s is percent-decoded once [D3-PATH-02]', (raw, path) => {
    expect(parseResourcePath(raw)).toBe(path);
  });

  it.each(['', '/', '/etc/passwd', '%2Fetc/passwd', '//a', 'a%00b', '%00'])(
    '%j is refused: empty, absolute or with NUL [D3-PATH-03]',
    (raw) => {
      expect(parseResourcePath(raw)).toBeUndefined();
    },
  );

  it.each(['..', '.', '../a', 'a/..', 'a/../a', 'a/./b', 'a//b', 'a/', '%2e%2E/a', 'a%2f..%2Fb', 'a%2F%2Fb', 'a/%2e'])(
    '%j is refused for a component, and not normalised [D3-PATH-04] [D3-PATH-07]',
    (raw) => {
      expect(parseResourcePath(raw)).toBeUndefined();
    },
  );

  it.each(['%', '%4', '%zz', 'a%2', '%ff', '%c3', '%c0%ae%c0%ae/a', '%ed%a0%80', '%-1', '%+1'])(
    '%j is refused: no escape, or no UTF-8',
    (raw) => {
      expect(parseResourcePath(raw)).toBeUndefined();
    },
  );

  it('agrees with decoding and looking at each component', () => {
    const piece = constantFrom(
      'a',
      '.',
      '..',
      '/',
      '%2f',
      '%2E',
      '%00',
      '%',
      '%c3',
      '%a4',
      '%25',
      '%4',
      '\\',
      '+',
      '~',
    );
    const raw = oneof(
      array(piece).map((pieces) => pieces.join('')),
      string(),
    );
    const agrees = property(
      raw.filter((text) => /^[!-~]*$/.test(text)),
      (text) => {
        expect(parseResourcePath(text)).toBe(model(text));
      },
    );
    assert(agrees, { numRuns: 3000 });
    expect(model('%2e/a')).toBeUndefined();
  });
});

function model(raw: string): string | undefined {
  try {
    const path = decodeURIComponent(raw);
    const isRefused = path.includes('\0') || path.split('/').some((part) => ['', '.', '..'].includes(part));
    return isRefused ? undefined : path;
  } catch {
    return undefined;
  }
}
