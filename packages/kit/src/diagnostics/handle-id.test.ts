import { describe, expect, it } from 'vitest';

import { handleId, redactHandles } from './handle-id.ts';

const token =
  'mh1.eyJ2IjoxLCJpc3MiOiJzZXNfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYiLCJwIjoicmVwb3J0cy9xMy5jc3YiLCJleHAiOjE3MDAwMDAwMDAwMDAsIm4iOiIwMDAxMDIwMzA0MDUwNjA3MDgwOTBhMGIwYzBkMGUwZiJ9.pTDJk5BE2O9PVek29X10kprx7horPtESn12_-i8DyjQ';

const escaped = token.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`);

describe('the id of a handle', () => {
  it('begins its hash [D3-HANDLE-09]', () => {
    expect(handleId(token)).toBe('39158f9a8a7c005d');
  });
});

describe('a text that holds handles', () => {
  it.each([
    [token, '<handle:39158f9a8a7c005d>'],
    [`fetch ${token}, then go on`, 'fetch <handle:39158f9a8a7c005d>, then go on'],
    [`x${token}-and-more`, 'x<handle:39158f9a8a7c005d>-and-more'],
    [`${token}${token}`, '<handle:39158f9a8a7c005d><handle:39158f9a8a7c005d>'],
    [JSON.stringify({ a: JSON.stringify({ b: token }) }), '{"a":"{\\"b\\":\\"<handle:39158f9a8a7c005d>\\"}"}'],
    [`/resources/peer/${token}?x`, '/resources/peer/<handle:39158f9a8a7c005d>?x'],
    [token.replaceAll('.', '%2E'), '<handle:39158f9a8a7c005d>'],
    [escaped, '<handle:39158f9a8a7c005d>'],
    [escaped.toUpperCase(), '<handle:39158f9a8a7c005d>'],
    [`${token.slice(0, -1)} was cut`, '<handle:ba98798b58fc4a30> was cut'],
  ])('%j shows their ids in their place [D3-TRACE-07] [D3-HANDLE-10]', (text, shown) => {
    expect(redactHandles(text)).toBe(shown);
  });

  it.each(['', 'mh1', 'mh1.', 'mh1.a', 'mh1..b', 'mh1.a.b', 'MH1.a.b', 'mh2.a.b', '100 % of mh1 a.b', '%6dh1%2'])(
    '%j holds none',
    (text) => {
      expect(redactHandles(text)).toBe(text);
    },
  );

  it('shows the ids of the first thousand, and of at most what svc can hash in a moment', () => {
    const begun = (index: number): string => `mh1.e${String(index).padStart(60, 'a')}.b `;
    const redacted = redactHandles(Array.from({ length: 3000 }, (_, index) => begun(index)).join(''));
    expect(redacted.match(/<handle:[0-9a-f]{16}>/g)).toHaveLength(1000);
    expect(redacted.match(/<handle>/g)).toHaveLength(2000);
  });

  it('hides every handle where they are too long for ids', () => {
    const long = `mh1.e${'a'.repeat(60_000)}.b `.repeat(5);
    for (const spell of [String, (text: string) => text.replaceAll('.', '%2e')]) {
      const redacted = redactHandles(spell(`${long}x ${token}mh1.${token} y ${token}.z after`));
      expect(redacted).toMatch(/^(?:<handle:[0-9a-f]{16}> ){4}<handle> x <handle> y <handle> after$/);
    }
    expect(redactHandles(`mh1.e${'a'.repeat(10_000_000)}`)).toHaveLength(10_000_005);
  });

  it('takes time to search that grows with its length alone', () => {
    const parts = ['mh1.', 'a', '%61', '%2e', '%', 'mh1.a', '%6dh1.'];
    for (const part of parts) expect(redactHandles(part.repeat(100_000)).length).toBeGreaterThan(0);
  });
});
