/** Writes what a script reads: the answer, the result, or one object a line. */

import { setImmediate } from 'node:timers/promises';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { encodeFrameData, type EventId, type NumberedFrame } from '@svc/protocol/frames.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { pageOf } from '@svc/terminal/screen/page.ts';
import { jsonLine, jsonText, Shown } from '@svc/terminal/screen/shown.ts';
import type { OutputFormat, RunResult, SessionLine, TurnUsageLine } from './run-result.ts';

/** Standard output of a run that a script started. */
export class ScriptOutput {
  readonly #stdout: Output;
  readonly #format: OutputFormat;
  #isUnread = false;

  /** `onUnread` is called when a write finds that nobody reads any more. */
  constructor(stdout: Output, format: OutputFormat, onUnread: () => void) {
    this.#stdout = stdout;
    this.#format = format;
    stdout.stream.on('error', (error) => {
      if (this.#isUnread || !isErrno(error, 'EPIPE')) return;
      this.#isUnread = true;
      onUnread();
    });
  }

  get isUnread(): boolean {
    return this.#isUnread;
  }

  line(line: SessionLine | TurnUsageLine | { readonly type: 'retry'; readonly reason: string }): void {
    if (this.#format === 'stream-json') this.#stdout.write(jsonLine(line));
  }

  /** `data` is the text that every client of the capsule gets. */
  frame(frame: NumberedFrame, id: EventId): void {
    if (this.#format !== 'stream-json') return;
    this.#stdout.write(
      jsonText(`{"type":"frame","id":"${id}","event":"${frame.event}","data":${encodeFrameData(frame)}}`),
    );
  }

  result(result: RunResult): void {
    if (this.#format !== 'text') this.#stdout.write(jsonLine(result));
    else if (result.answer !== null) this.#answer(result.answer);
  }

  /** Resolves once it is known whether what was written has a reader. */
  async settled(): Promise<void> {
    await this.#stdout.taken();
    await setImmediate();
  }

  /** As it is for a program; on a terminal behind the gutter, as everything that a model wrote. */
  #answer(answer: string): void {
    const text = answer.endsWith('\n') ? answer : `${answer}\n`;
    if (!this.#stdout.isTerminal) return void this.#stdout.write(Shown.cleaned(text, 'exact'));
    const page = pageOf(this.#stdout);
    this.#stdout.write(Shown.cleaned(page.quote(text) + page.endQuote(), 'laid out'));
  }
}
