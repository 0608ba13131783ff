import type * as z from 'zod/mini';

import type { LaunchEnd } from '@svc/sandbox/launcher.ts';
import type { OutputLine } from '@svc/sandbox/read-lines.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { decodeMarkedUtf8 } from '@svc/protocol/strict-utf8.ts';
import type { DriverOutcome } from './driver.ts';

/** A longer line is not read. */
export const maxLineBytes: number = 16 * 1024 * 1024;
/** Of one line: its bytes alone would let a session take fifty times as much, and seconds, for empty objects. */
const mostLineValues = 262_144;

/** How much of the end of what a driver says on its stderr is kept, for a failure. */
export const stderrTailBytes = 4096;
/** And of its start, where many programs say what is wrong before they list where. */
export const stderrHeadBytes = 1024;
const firstLines = 2;
const lastLines = 5;
/** What an interpreter says between where it was and how it got there: `Error: Cannot find module …`. */
const namesError = /^\w*(?:Error|Exception)\b[^:]{0,80}: \S/;

export type DriverLineReading =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'blank' }
  /** A part of a line: the output ended in the middle of it. */
  | { readonly kind: 'part' }
  | { readonly kind: 'fault'; readonly outcome: DriverOutcome };

/** Reads one line of a driver's output. `who` is the driver, for the sentence of a fault. */
export function readDriverLine(line: OutputLine, who: string): DriverLineReading {
  if (line.kind === 'too-long') return failed(`${who} wrote a line of more than ${maxLineBytes} bytes`);
  const text = decodeMarkedUtf8(line.bytes);
  if (text?.trim() === '') return { kind: 'blank' };
  const json = text === null ? ({ kind: 'not-json' } as const) : parseJsonText(text, mostLineValues);
  if (json.kind === 'json') return { kind: 'value', value: json.value };
  if (line.kind === 'rest') return { kind: 'part' };
  if (json.kind === 'too-deep') return failed(`${who} wrote JSON that is nested too deeply`);
  if (json.kind === 'too-many') return failed(`${who} wrote a line of more than ${mostLineValues} values`);
  const error = `${who} wrote a line that is not JSON: ${excerpt(line.bytes)}`;
  return { kind: 'fault', outcome: { kind: 'malformed', error } };
}

export interface EarlyEnd {
  readonly end: LaunchEnd;
  /** In the middle of a line. */
  readonly midLine: boolean;
  /** The start and the end of what it said on its stderr. */
  readonly stderr: string;
}

/** How a driver ended that had not responded. */
export function exitSentence(who: string, { end, midLine, stderr }: EarlyEnd): string {
  const how = end.kind === 'exited' ? `exited with status ${end.exitCode}` : `was ended by ${end.signal}`;
  const where = midLine ? 'in the middle of a line, before its response' : 'before its response';
  const said = firstAndLast(stderr);
  return `${who} ${how} ${where}${said === '' ? '' : `: ${said}`}`;
}

function firstAndLast(text: string): string {
  const lines = text.split('\n');
  if (lines.length <= firstLines + lastLines) return text;
  const between = lines.slice(firstLines, -lastLines).find((line) => namesError.test(line));
  const last = lines.slice(-lastLines).filter((line) => line !== '…');
  return [...lines.slice(0, firstLines), '…', ...(between === undefined ? [] : [between, '…']), ...last].join('\n');
}

function failed(error: string): DriverLineReading {
  return { kind: 'fault', outcome: { kind: 'failed', error } };
}

function excerpt(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

/** What is wrong with a line that has another shape, with the key it is about: `response.stop_reason must be text`. */
export function describeFirst(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return 'it has another shape';
  const place = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const described = `${place === '' ? 'the line' : place.replace(/^\./, '')} ${issue.message}`;
  return described.length > 300 ? `${described.slice(0, 300)}…` : described;
}
