/** Shows a tool call in one row, with its arguments and how it ended, and the result in a few rows more. */

import { type Digits, withDigits } from '@svc/kit/exact-json.ts';
import { shownDuration } from '@svc/kit/shown-values.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { isShell } from '@svc/session/tools/shell-command.ts';
import { exact } from '@svc/terminal/screen/shown.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { widthOf, cutToWidth, cellsOf } from '@svc/terminal/screen/terminal-kind.ts';
import { changedLines, type LineChanges, lineChanges } from './line-changes.ts';
import type { ShownInput, ShownResult } from './session-event.ts';
import { cutOf, type CutOutput, isNotice } from './cut-output.ts';

/** Limit for the name of a tool. */
const maxName = 100;
/** Limit for an argument in a row. */
const maxAbout = 4096;
/** The last lines of what a command wrote. */
const maxOutputLines = 5;
const maxNotes = 3;
const maxChangedLines = 20;
/** No line is looked at any further. */
const maxLine = 2000;
const gap = '  ';
const fewestCells = 8;

/** A call as a person reads it. `mark` stands in the first column: `$` a command, `~` a file changed, `*` any other tool. */
export interface ShownCall {
  readonly mark: '$' | '~' | '*';
  /** What was called with what, exact: nothing in it is left out. */
  readonly about: string;
  readonly changes: LineChanges | null;
}

/** `input` as the model gave it. */
export function shownCall(name: string, { input, digits }: ShownInput): ShownCall {
  const values = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  const shownName = exact(inertLine(name, maxName));
  const { command, path } = values;
  if (name === 'svc-tool-editor' && typeof path === 'string') return editorCall(values, exact(path.slice(0, maxAbout)));
  const keys = Object.keys(values);
  if (keys.length === 1 && typeof command === 'string') {
    const line = isShell(name) ? command : `${name} ${command}`;
    return { mark: '$', about: spelt(line), changes: null };
  }
  const [only = ''] = keys;
  const given = values[only];
  const value = keys.length === 1 && typeof given === 'string' ? given : jsonOf(input, digits);
  return { mark: '*', about: `${shownName}${value === '' ? '' : ` ${spelt(value)}`}`, changes: null };
}

function editorCall(values: Readonly<Record<string, unknown>>, path: string): ShownCall {
  const text = (name: string): string => (typeof values[name] === 'string' ? values[name] : '');
  switch (values['command']) {
    case 'patch':
      return { mark: '~', about: path, changes: lineChanges(text('old_text'), text('new_text')) };
    case 'write':
      return { mark: '~', about: path, changes: lineChanges('', text('content')) };
    default:
      return {
        mark: '*',
        about: `${exact(text('command').slice(0, maxName))} ${path}`,
        changes: null,
      };
  }
}

/** One line in which everything that could pass for something else is spelt. */
function spelt(text: string): string {
  const shown = exact(text.slice(0, maxAbout).replaceAll('\n', '\\n').replaceAll('\t', '\\t'));
  return text.length > maxAbout ? `${shown}…` : shown;
}

function jsonOf(input: unknown, digits: Digits | undefined): string {
  const text = input === undefined ? '' : withDigits(input, digits);
  return text === '{}' ? '' : text;
}

export interface CallHead {
  readonly left: string;
  readonly right: string;
  readonly hasFailed: boolean;
}

/** Both ends of the row of a call that has ended. The right end says in words what a colour may say too. */
export function callHead({ mark, about, changes }: ShownCall, result: ShownResult): CallHead {
  const { exitCode, isError, isRefused, durationMs } = result;
  const hasFailed = isError || isRefused || (exitCode ?? 0) !== 0;
  const parts = [
    ...(changes === null || hasFailed ? [] : [`+${changes.added} -${changes.removed}`]),
    ...(isRefused ? ['refused'] : exitCode === null ? (isError ? ['failed'] : []) : [`exit ${exitCode}`]),
    ...(durationMs === null ? [] : [shownDuration(durationMs).padStart(8)]),
  ];
  return { left: `${hasFailed && mark !== '$' ? '✗' : mark} ${about}`, right: parts.join(gap), hasFailed };
}

/** Both ends in one row: the left one is cut in its middle where it does not fit, so that its end is seen too. */
export function headRow({ left, right }: CallHead, columns: number, paint: (right: string) => string): string {
  const room = Math.max(fewestCells, columns - widthOf(right) - gap.length);
  const shown = cutInMiddle(left, room);
  const isEndless = columns === Infinity;
  const blanks = isEndless ? gap.length : Math.max(gap.length, columns - widthOf(shown) - widthOf(right));
  return right === '' ? shown : `${shown}${' '.repeat(blanks)}${paint(right)}`;
}

/** What would be drawn into the cell of the mark before it. */
const partOfPrevious = /^[\p{M}\u200D]+/u;

/** The text where it fits into so many cells, else its start and its end with `…` between. */
export function cutInMiddle(text: string, cells: number): string {
  if (widthOf(text) <= cells) return text;
  const atEnd = Math.floor((cells - 1) / 3);
  const characters = Array.from(text);
  let from = characters.length;
  for (let taken = 0; from > 0; from -= 1) {
    taken += cellsOf(characters[from - 1] ?? '');
    if (taken > atEnd) break;
  }
  const end = characters.slice(from).join('').replace(partOfPrevious, '');
  // What is cut ends with a mark of its own.
  return cutToWidth(text, cells - widthOf(end)) + end;
}

type WrittenLines = readonly string[] | null;

/** What is shown below the row of a call: lines for the gutter, and how many more there are. */
export interface CallBody {
  readonly lines: readonly string[];
  readonly more: number;
  /** Whether the lines that are left out stand before those that are shown. */
  readonly isMoreBefore: boolean;
  /** What became of the missing part of the result; null where it is whole. */
  readonly cut: CutOutput | null;
  /** Whether the lines are the last ones all the same. */
  readonly isEnd: boolean;
}

const nothing: CallBody = { lines: [], more: 0, isMoreBefore: false, cut: null, isEnd: true };

/**
 * The changed lines of a file; the last lines of a command; the first lines of a failure. `written` are the last lines that the command wrote, which
 * are shown where the result is cut; null where nobody heard them. Of the output of a command at most the last `most` lines are shown.
 */
export function callBody(
  { mark, changes }: ShownCall,
  result: ShownResult,
  written: WrittenLines = null,
  most: number = maxOutputLines,
): CallBody {
  const hasFailed = result.isError || result.isRefused;
  if (changes !== null && !hasFailed) return firstOf(changedLines(changes, result.content), maxChangedLines);
  if (mark === '$') return outputBody(result, written, most);
  if (!hasFailed) return nothing;
  return firstOf(
    linesOf(result.content).filter((line) => line.trim() !== ''),
    maxOutputLines,
  );
}

function outputBody(result: ShownResult, written: WrittenLines, most: number): CallBody {
  const cutOutput = cutOf(result);
  if (cutOutput === null) return lastOf(outputLines(result.content), most);
  const lines = outputLines(result.content);
  if (written === null) {
    const told = lines.filter((line) => !isNotice(line));
    return { ...lastOf(told, most), cut: cutOutput, isEnd: false };
  }
  const shown = [...written, ...notesBehind(lines).filter((note) => !written.includes(note))];
  return { ...nothing, lines: shown.map(cut), cut: cutOutput };
}

/** What `svc` says of the command behind an output that it cut, such as a limit that was reached. */
function notesBehind(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => isNotice(line) || !/^\[.*\]$/.test(line));
  return lines.slice(last + 1).slice(-maxNotes);
}

function firstOf(lines: readonly string[], most: number): CallBody {
  return { ...nothing, lines: lines.slice(0, most).map(cut), more: Math.max(0, lines.length - most) };
}

function lastOf(lines: readonly string[], most: number): CallBody {
  return { ...nothing, lines: lines.slice(-most).map(cut), more: Math.max(0, lines.length - most), isMoreBefore: true };
}

function cut(line: string): string {
  return shortened(line, maxLine);
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** What a model receives of a command begins with the command and its end, which stand in the row already. */
const answered = /^command: [^]*?\n(?:exit code: \d+|ended by signal: \w+)\n/;
const emptySection = /^std(?:out|err): \(empty\)$/;

function outputLines(content: string): string[] {
  const lines = linesOf(content.replace(answered, ''));
  return lines.filter((line) => !emptySection.test(line) && line !== 'stdout:' && line !== 'stderr:');
}
