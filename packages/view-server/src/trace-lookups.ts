/** Looks through all lines of a trace: for an event, for words, and for what became of files. */

import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { holdsText } from '@svc/protocol/shown-text.ts';
import type { FileChanges } from '@svc/protocol/viewed-rows.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { parseLineObject, typeOfLine } from '@svc/record/sessions/trace-events.ts';
import { eachLine } from './each-line.ts';
import { changeOf } from './rows/file-edit.ts';
import { changedLines, lineDiff, maxCells } from './rows/line-diff.ts';

const [maxFound, maxFiles, maxRows] = [100_000, 10_000, 1000];
/** Comparisons of two lines that are made before others have their turn. */
const turnCells = 1_000_000;

/** The row of an event id; -1 without one. */
export async function rowOfEvent(file: LineFile, eventId: string): Promise<number> {
  if (!/^[\w-]{1,128}$/.test(eventId)) return -1;
  const wanted = Buffer.from(`"event_id":"${eventId}"`);
  for await (const { row, line } of rows(file)) if (line.includes(wanted)) return row;
  return -1;
}

/** Rows of whose lines a value holds a text, in small letters; at most 100,000. */
export async function rowsWith(file: LineFile, words: string): Promise<readonly number[]> {
  const found: number[] = [];
  const written = JSON.stringify(words).slice(1, -1);
  for await (const { row, line } of rows(file)) {
    if (found.length >= maxFound) return found;
    const text = line.toString('utf8');
    if (!text.toLowerCase().includes(written)) continue;
    const event = parseLineObject(text);
    if (event === null || holdsText(event, words)) found.push(row);
  }
  return found;
}

/** Returns the changes of each file that calls have changed, as far as their arguments say it. */
export async function changesIn(file: LineFile): Promise<readonly FileChanges[]> {
  const files = new Map<string, { readonly path: string; added: number; removed: number; readonly rows: number[] }>();
  let cells = 0;
  for await (const { row, line } of rows(file)) {
    const type = typeOfLine(line);
    const change =
      type === 'tool_call' || type === 'plan_step' ? changeOf(parseLineObject(line.toString('utf8')) ?? {}) : null;
    if (change === null) continue;
    const lines = lineDiff(change.before, change.after);
    const { added, removed } = changedLines(lines);
    cells += Math.min((lines.length - added) * (lines.length - removed), maxCells);
    if (cells >= turnCells) {
      cells = 0;
      await yieldToLoop();
    }
    const known = files.get(change.path) ?? { path: change.path, added: 0, removed: 0, rows: [] };
    if (files.size < maxFiles) files.set(change.path, known);
    known.added += added;
    known.removed += removed;
    if (known.rows.length < maxRows) known.rows.push(row);
  }
  return [...files.values()];
}

async function* rows(file: LineFile): AsyncGenerator<{ readonly row: number; readonly line: Buffer }> {
  let row = 0;
  for (const each of eachLine(file, 0)) {
    if (each === null) {
      await yieldToLoop();
      continue;
    }
    yield { row, line: each.line };
    row += 1;
  }
}
