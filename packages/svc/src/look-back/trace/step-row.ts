/** One row for a step of a session. */

import { turnOf } from '@svc/record/journal/records.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import type { JournalReader, Step } from '@svc/record/journal/journal-reader.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { type Column, fixedRow } from '@svc/terminal/screen/table.ts';
import type { Shown } from '@svc/terminal/screen/shown.ts';
import { shownCount, shownDuration } from '@svc/kit/shown-values.ts';

/** Limit for a name or an input, so that a row in a pipe has an end. */
const maxCell = 512;
/** The first bytes of an input have all that a row can show. */
const maxInput = 4096;

/** Fits 80 columns: the last column takes what the others leave. */
const columns: readonly Column[] = [
  { title: 'STEP', keeps: 6 },
  { title: 'NAME', keeps: 12 },
  { title: 'ABOUT', keeps: 33, fills: true },
  { title: 'RESULT', keeps: 12 },
  { title: 'TIME', keeps: 9 },
];

export function stepRow(step: Step, reader: JournalReader, output: Output): Shown {
  const { start, end, number } = step;
  const name = start.port === 'model' ? 'model' : start.name;
  const cells = [`#${number}`, name, aboutOf(step, reader), resultOf(step), end === null ? '' : shownDuration(end.ms)];
  return fixedRow(
    columns,
    cells.map((cell) => inertLine(cell, maxCell)),
    output,
  );
}

function aboutOf({ start, end }: Step, reader: JournalReader): string {
  if (start.port !== 'model') return inputOf(reader, start.in);
  const turn = `turn ${turnOf(start.e) ?? '?'}`;
  if (end?.usage === undefined) return turn;
  const { in: input, out, cache } = end.usage;
  const cached = cache === undefined ? '' : `, cache ${shownCount(cache)}`;
  return `${turn}  ${shownCount(input)} in, ${shownCount(out)} out${cached}`;
}

/** The input of a call: its only text, or all of it as JSON. */
function inputOf(reader: JournalReader, hash: string): string {
  const body = reader.body(hash);
  if (body.kind === 'cut') return body.head;
  if (body.kind !== 'text') return `(${body.kind})`;
  if (body.text.length > maxInput) return body.text.slice(0, maxInput);
  const value = parsed(body.text);
  const texts = typeof value === 'object' && value !== null ? Object.values(value) : [value];
  const [only] = texts;
  return texts.length === 1 && typeof only === 'string' ? only : body.text;
}

function resultOf({ end }: Step): string {
  if (end === null) return 'not ended';
  if (end.lost !== undefined) return end.lost;
  if (end.calls !== undefined && end.calls.length > 0) return `-> ${end.calls.join(', ')}`;
  if (end.exit !== undefined && end.exit !== 0) return `exit ${end.exit}`;
  if (end.error === true) return 'failed';
  return end.stop === undefined ? 'ok' : end.stop;
}
