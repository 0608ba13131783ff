import { describe, expect, it } from 'vitest';

import { renderExcerpt } from './source-excerpt.ts';

describe('the excerpt of a source line', () => {
  it('underlines what was found, below it also after tabs and wide characters', () => {
    expect(renderExcerpt('a: many', { column: 4, length: 4 })).toEqual({ text: 'a: many', marker: '   ^^^^' });
    expect(renderExcerpt('\ta: b', { column: 5, length: 1 })).toEqual({ text: '  a: b', marker: '     ^' });
    expect(renderExcerpt('日本: b', { column: 5, length: 1 })).toEqual({ text: '日本: b', marker: '      ^' });
  });

  it('underlines one place when the end of the line was meant', () => {
    expect(renderExcerpt('a:', { column: 3, length: 5 })).toEqual({ text: 'a:', marker: '  ^' });
    expect(renderExcerpt('', { column: 1 })).toEqual({ text: '', marker: '^' });
  });

  it('cuts a long line around the place', () => {
    const { text, marker } = renderExcerpt(`${'x'.repeat(500)}HERE${'y'.repeat(500)}`, { column: 501, length: 4 });
    expect(text).toBe(`…${'x'.repeat(40)}HERE${'y'.repeat(56)}…`);
    expect(marker).toBe(`${' '.repeat(41)}^^^^`);
  });

  it.each([
    ['  api_key: sk-123', '  api_key: [secret]'],
    ['  "api_key": sk-123 # mine', '  "api_key": [secret]'],
    ['{name: a, token: abc, type: github}', '{name: a, token: [secret]'],
    ['  API-KEY: sk-123', '  API-KEY: [secret]'],
    ['  password: [a, b]', '  password: [secret]'],
    ['{ max_tokens: 100, token: abc }', '{ max_tokens: 100, token: [secret]'],
    ['  max_session_tokens: 1', '  max_session_tokens: 1'],
    ['  my_max_tokens: 1', '  my_max_tokens: [secret]'],
    ['  api_key: ${KEY}', '  api_key: ${KEY}'],
    ['  api_key: "${KEY}"', '  api_key: "${KEY}"'],
    ['  api_key:', '  api_key:'],
  ])('of %s shows %s', (line, shown) => {
    expect(renderExcerpt(line, { column: 1 }).text).toBe(shown);
  });

  it('spells out control characters', () => {
    expect(renderExcerpt('a: \u001B[31m', { column: 1 }).text).toBe('a: \\u{1b}[31m');
  });
});
