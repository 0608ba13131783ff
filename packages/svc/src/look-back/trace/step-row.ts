/** One row for a task of a session, a step, a call that was refused, or an answer. */

import { turnOf } from '@svc/record/journal/records.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import type { Step } from '@svc/record/journal/journal-reader.ts';
import type { PassedTexts } from '@svc/record/journal/passed-texts.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { type Column, fixedRow } from '@svc/terminal/screen/table.ts';
import type { Shown } from '@svc/terminal/screen/shown.ts';
import { shownCount, shownDuration } from '@svc/kit/shown-values.ts';
import type { RecordedRow } from '../../shown/recorded-rows.ts';

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

export function rowOf(row: RecordedRow, texts: PassedTexts, output: Output): Shown {
  return fixedRow(
    columns,
    cellsOf(row, texts).map((cell) => inertLine(cell, maxCell)),
    output,
  );
}

function cellsOf(row: RecordedRow, texts: PassedTexts): readonly string[] {
  switch (row.kind) {
    case 'task':
      return ['', 'task', textOf(texts, row.record.text), '', ''];
    case 'refused':
      return ['', row.call.name, aboutCall(row.call.input), 'refused', ''];
    case 'end': {
      const { state, result, message } = row.record;
      const isAnswer = state === 'completed' && result !== null;
      return ['', isAnswer ? 'answer' : 'end', isAnswer ? textOf(texts, result) : message, state, ''];
    }
    case 'step': {
      const { start, end, number } = row.step;
      const name = start.port === 'model' ? 'model' : start.name;
      const time = end === null ? '' : shownDuration(end.ms);
      return [`#${number}`, name, aboutOf(row.step, texts), resultOf(row.step), time];
    }
  }
}

function aboutOf({ start, end }: Step, texts: PassedTexts): string {
  if (start.port !== 'model') return inputOf(texts, start.in);
  const turn = `turn ${turnOf(start.e) ?? '?'}`;
  if (end?.usage === undefined) return turn;
  const { in: input, out, cache } = end.usage;
  const cached = cache === undefined ? '' : `, cache ${shownCount(cache)}`;
  return `${turn}  ${shownCount(input)} in, ${shownCount(out)} out${cached}`;
}

/** A text, or how it begins. */
function textOf(texts: PassedTexts, hash: string): string {
  const body = texts.body(hash);
  if (body.kind === 'cut') return body.head;
  return body.kind === 'text' ? body.text.slice(0, maxInput) : `(${body.kind})`;
}

function inputOf(texts: PassedTexts, hash: string): string {
  const text = textOf(texts, hash);
  const value = parsed(text);
  return value === null ? text : aboutCall(value);
}

/** The input of a call: its only text, or all of it as JSON. */
function aboutCall(input: unknown): string {
  const texts = typeof input === 'object' && input !== null ? Object.values(input) : [input];
  const [only] = texts;
  return texts.length === 1 && typeof only === 'string' ? only : (JSON.stringify(input) ?? '').slice(0, maxInput);
}

function resultOf({ end }: Step): string {
  if (end === null) return 'not ended';
  if (end.lost !== undefined) return end.lost;
  if (end.calls !== undefined && end.calls.length > 0) return `-> ${end.calls.join(', ')}`;
  if (end.exit !== undefined && end.exit !== 0) return `exit ${end.exit}`;
  if (end.error === true) return 'failed';
  return end.stop === undefined ? 'ok' : end.stop;
}
