/** Keeps the last lines that a running command writes, and finds what its result lacks of them. */

import type { ShownResult } from './session-event.ts';

/** Limit for calls that run at once; the output of further ones is not kept. */
const maxCalls = 256;
const maxLines = 5;
/** Limit for a line; a longer one keeps its end. */
const maxLine = 2000;
const cutMark = '…';

/** Whether the logs of the session have all of an output that was cut. */
export type CutOutput = 'kept' | 'not-kept';

/** As tools write it behind an output that they cut. */
const notice =
  /^\[\d{1,15} more bytes are not shown; (the whole is kept in )?logs\/[^\n]*, out of reach of tools(?:: [^\n]{1,80})?\]$/;

/** What became of the rest of an output that the result does not hold whole, as its capsule says; null where it does. */
export function cutOf({ isCut, content }: Pick<ShownResult, 'isCut' | 'content'>): CutOutput | null {
  if (!isCut) return null;
  let cut: CutOutput | null = null;
  for (const line of content.split('\n')) {
    const [whole, kept] = notice.exec(line) ?? [];
    if (whole !== undefined) cut = kept === undefined || cut === 'not-kept' ? 'not-kept' : 'kept';
  }
  return cut;
}

/** Whether the line is what a tool wrote behind an output that it cut. */
export function isNotice(line: string): boolean {
  return notice.test(line);
}

/** The command that shows what is kept of such an output. `session` is what people name it by. */
export function logsCommandOf(session: string, { step }: Pick<ShownResult, 'step'>): string {
  return `svc logs ${session}${step === null ? '' : ` ${step}`}`;
}

/** The last five lines of each call that runs, by its id; of all calls together at most 2.5 MB of text. */
export class LastLines {
  /** The last one may go on; it is empty behind a line that has ended. */
  readonly #lines = new Map<string, readonly string[]>();

  /** `leftOutBytes` stood in front of the text and are not shown. */
  add(callId: string | null, text: string, leftOutBytes: number): void {
    if (callId === null || text === '') return;
    const before = this.#lines.get(callId);
    if (before === undefined && this.#lines.size >= maxCalls) return;
    const [first = '', ...more] = text.split('\n');
    const joined = leftOutBytes > 0 ? [`${cutMark}${first}`] : withMore(before ?? [''], first);
    this.#lines.set(callId, [...joined, ...more].slice(-maxLines - 1).map(endOf));
  }

  /** The lines of a call that has ended, which are forgotten with it; null where none are known. */
  take(callId: string | null): readonly string[] | null {
    const lines = this.#lines.get(callId ?? '');
    if (callId !== null) this.#lines.delete(callId);
    if (lines === undefined) return null;
    return (lines.at(-1) === '' ? lines.slice(0, -1) : lines).slice(-maxLines);
  }

  /** What is left of calls that have no end. */
  clear(): void {
    this.#lines.clear();
  }
}

function withMore(lines: readonly string[], text: string): readonly string[] {
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ''}${text}`];
}

function endOf(line: string): string {
  return line.length > maxLine ? `${cutMark}${line.slice(1 - maxLine)}` : line;
}
