import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { normalizeHostPath, waysTo } from './host-path.ts';

describe('a path of the host', () => {
  it.each([
    ['/opt/sdk', '/opt/sdk'],
    ['//opt/./sdk/', '/opt/sdk'],
    ['/...', '/...'],
    ['/a..b/ c', '/a..b/ c'],
  ])('%j is %j', (path, normal) => {
    expect(normalizeHostPath(path)).toBe(normal);
  });

  it.each([
    '',
    '/',
    '//',
    '/.',
    'opt',
    './opt',
    '~/sdk',
    '..',
    '/..',
    '/opt/..',
    '/opt/../etc',
    '/a\0b',
    `/${'a'.repeat(5000)}`,
  ])('cannot be %j', (path) => {
    expect(normalizeHostPath(path)).toBeUndefined();
  });

  it('has one spelling, which lies in each folder above it', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '.', '..', '/', '', 'b/c')), (parts) => {
        const normal = normalizeHostPath(`/${parts.join('/')}`);
        if (normal === undefined) return;
        expect(normalizeHostPath(normal)).toBe(normal);
        expect(waysTo(normal).at(-1)).toBe(normal);
        for (const way of waysTo(normal)) expect(`${normal}/`.startsWith(`${way}/`)).toBe(true);
      }),
    );
  });
});
