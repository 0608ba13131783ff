import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { LineFile } from '@svc/record/journal/line-file.ts';
import { WholeLines } from './whole-lines.ts';

const mebibyte = 1024 * 1024;

function linesOf(text: string, size?: number): { readonly lines: WholeLines; readonly file: LineFile; path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lines-'));
  const path = join(folder, 'trace.jsonl');
  writeFileSync(path, text);
  if (size !== undefined) truncateSync(path, size);
  const file = new LineFile(openSync(path, 'r'));
  onTestFinished(() => {
    file.close();
    rmSync(folder, { recursive: true });
  });
  return { lines: new WholeLines(file), file, path };
}

it('WholeLines looks at 64 MiB of a file with a hole at once, and goes on from there', () => {
  const { lines, file, path } = linesOf('first\n', 1024 ** 4);
  expect(lines.end()).toBe(6);
  expect(file.bytesRead).toBe(64 * mebibyte);
  expect([lines.isBehind, lines.unended]).toEqual([true, 64 * mebibyte - 6]);
  expect(lines.end()).toBe(6);
  expect(file.bytesRead).toBe(128 * mebibyte);
  truncateSync(path, 129 * mebibyte);
  writeFileSync(path, '\nlast', { flag: 'a' });
  expect(lines.end()).toBe(129 * mebibyte + 1);
  expect(lines.isBehind).toBe(false);
});

it('WholeLines is behind nothing once it has looked at all of a file', () => {
  const { lines, path } = linesOf('one\ntwo\nthr');
  expect([lines.isBehind, lines.end(), lines.isBehind, lines.unended]).toEqual([true, 8, false, 3]);
  writeFileSync(path, 'ee\n', { flag: 'a' });
  expect([lines.isBehind, lines.end(), lines.unended]).toEqual([true, 14, 0]);
});
