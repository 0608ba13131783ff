/** Files of lines, as a journal or a trace is one. */

import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { LineFile } from '../../src/journal/line-file.ts';

/** A file with a line for each object, which is gone after the test. */
export function fileOfLines(lines: readonly object[]): LineFile {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lines-'));
  writeFileSync(join(folder, 'lines'), lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const file = new LineFile(openSync(join(folder, 'lines'), 'r'));
  onTestFinished(() => {
    file.close();
    rmSync(folder, { recursive: true });
  });
  return file;
}
