/** Reads a trace back. */

import { readFileSync } from 'node:fs';

/** The whole lines of a trace, parsed. A tail without a line end is no line: a killed process was writing it. */
export function readTrace(path: string): Record<string, unknown>[] {
  const text = readFileSync(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
