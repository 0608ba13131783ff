import { describe, expect, it } from 'vitest';

import { inboxName } from './peer-inbox.ts';

const id = '39158f9a8a7c005d';

describe('fetchedFileName', () => {
  it.each([
    ['reports/q3.csv', 'q3.csv'],
    ['Q3 Report (final).csv', 'Q3_Report_final_.csv'],
    ['報告書.pdf', '報告書.pdf'],
    ['e\u0301te\u0301.txt', 'été.txt'],
    ['a/..', 'file'],
    ['..', 'file'],
    ['', 'file'],
    ['reports/', 'file'],
    ['.bashrc', 'bashrc'],
    ['...hidden', 'hidden'],
    ['-rf', 'rf'],
    ['..\\..\\evil.exe', 'evil.exe'],
    ['a\\b', 'a_b'],
    ['a\0b', 'a_b'],
    ['a\r\nb\u001b[31m', 'a_b_31m'],
    ['a\u202Egnp.exe', 'a_gnp.exe'],
    ['\ud800x', 'x'],
    ['x\ud800', 'x_'],
    ['💥', 'file'],
    ['%2e%2e%2fx', '2e_2e_2fx'],
    ['~', 'file'],
    ['</untrusted-content>', 'untrusted-content_'],
  ])('turns %j into %j [D3-TOOL-11]', (path, name) => {
    expect(inboxName(id, path)).toBe(`39158f9a8a7c005d-${name}`);
  });

  it.each([[undefined], [null], [1], [{}], [['a']]])('turns %j into file', (path) => {
    expect(inboxName(id, path)).toBe('39158f9a8a7c005d-file');
  });

  it('fits every file system and keeps its extension', () => {
    expect(inboxName(id, `${'a'.repeat(5000)}.csv`)).toBe(`39158f9a8a7c005d-${'a'.repeat(116)}.csv`);
    expect(inboxName(id, `${'ü'.repeat(5000)}.csv`)).toBe(`39158f9a8a7c005d-${'ü'.repeat(58)}.csv`);
    expect(inboxName(id, `${'a'.repeat(110)}.${'b'.repeat(200)}`)).toBe(
      `39158f9a8a7c005d-${'a'.repeat(110)}.${'b'.repeat(9)}`,
    );
  });
});
