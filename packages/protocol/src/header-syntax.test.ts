import { expect, it } from 'vitest';

import { isHeaderValue, isHttpToken } from './header-syntax.ts';

const characters = Array.from({ length: 0x120 }, (_, code) => String.fromCharCode(code));

it('the value of a header is of visible characters, blanks, and bytes above ASCII', () => {
  const odd = characters.filter((character) => !isHeaderValue(`a${character}b`));
  const controls = characters.filter((_, code) => (code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff);
  expect(odd).toEqual(controls);
  expect(['', ' ', '\ta ', 'a\n', 'a\r\nb: c', '\u{1F600}'].map(isHeaderValue)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('a token is of letters, digits and the marks that separate nothing', () => {
  const good = characters.filter((character) => isHttpToken(`a${character}b`)).join('');
  expect(good).toBe("!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~");
  expect(['', 'GET', 'x-a', 'a\n', 'a b', 'a:'].map(isHttpToken)).toEqual([false, true, true, false, false, false]);
});
