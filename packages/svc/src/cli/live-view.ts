/** Shows the work of a session on a terminal while it happens. */

import pc from 'picocolors';
import type { NumberedFrame } from '@svc/protocol/frames.ts';
import { redactHandles } from '../resources/handle-id.ts';
import { cutToWidth } from './terminal/terminal-kind.ts';
import { inertLine } from './terminal/inert-text.ts';
import type { Output } from './terminal/output.ts';
import { type Page, pageOf } from './terminal/page.ts';
import { exact, say, Shown, unfenced } from './terminal/shown.ts';

const longestName = 40;
const longestLine = 400;

/**
 * Shows a session's work on a terminal while it happens: each turn, each call with its outcome, the reply as it streams
 * (docs/cli.md "svc run"). What a model or tool wrote stands behind the gutter, inert.
 */
export class LiveView {
  readonly #out: Output;
  readonly #page: Page;
  readonly #color: ReturnType<typeof pc.createColors>;
  #quoted: 'text' | 'thinking' | null = null;

  constructor(out: Output, useColor: boolean) {
    this.#out = out;
    this.#page = pageOf(out);
    this.#color = pc.createColors(useColor);
  }

  show(frame: NumberedFrame): void {
    switch (frame.event) {
      case 'text':
        this.#quote('text', frame.text);
        if (frame.final) this.#endQuote();
        return;
      case 'thinking':
        return this.#quote('thinking', frame.text);
      case 'artifact':
        return this.#artifact(frame);
      case 'status':
        return this.#status(frame.state, frame.message);
    }
  }

  /** The driver asks the model again within a turn. */
  retry(reason: string): void {
    this.#own(`${this.#color.yellow(say`\u2022 asking the model again: ${inertLine(reason, longestLine)}`.text)}\n`);
  }

  /** Rows of `svc` between those of the view. */
  say(rows: Shown): void {
    this.#own(rows.text);
  }

  #artifact(frame: Extract<NumberedFrame, { readonly event: 'artifact' }>): void {
    const { green, red, dim } = this.#color;
    const { toolName, isError, exitCode, durationMs, content, fenceSource } = frame;
    const hasFailed = isError || (exitCode ?? 0) !== 0;
    const exit = exitCode === null ? '' : ` exit ${exitCode}`;
    const took = durationMs === null ? '' : ` ${durationMs} ms`;
    const name = cutToWidth(exact(inertLine(toolName, longestLine)), longestName);
    this.#own(`${hasFailed ? red('\u2717') : green('\u2713')} ${name}${dim(`${exit}${took}`)}\n`);
    if (!isError) return;
    const [first, second] = unfenced(content.slice(0, longestLine * 4), fenceSource)
      .split('\n')
      .filter((each) => each.trim() !== '' && !each.startsWith('<untrusted-content '));
    if (first === undefined) return;
    // A line that ends so only announces what is wrong.
    const line = first.trimEnd().endsWith(':') && second !== undefined ? `${first.trimEnd()} ${second}` : first;
    this.#write(dim(this.#page.quote(redactHandles(inertLine(line, longestLine))) + this.#page.endQuote()));
  }

  #status(state: string, message: string): void {
    const { bold, cyan, dim, red, yellow } = this.#color;
    switch (state) {
      case 'input-required':
        this.#own(`${yellow('? input is asked for: a message to the capsule is the answer')}\n`);
        return this.#write(this.#page.quote(message) + this.#page.endQuote());
      case 'working':
        return this.#own(`${cyan(`\u2022 ${exact(message)}`)}\n`);
      case 'completed':
        return this.#own(`${dim(bold('done'))}\n`);
      default:
        return this.#own(`${red(say`${state}: ${message}`.text)}\n`);
    }
  }

  #quote(kind: 'text' | 'thinking', piece: string): void {
    if (piece === '') return;
    if (this.#quoted !== kind) this.#endQuote();
    this.#quoted = kind;
    const shown = this.#page.quote(piece);
    this.#write(kind === 'thinking' && shown !== '' ? this.#color.dim(shown) : shown);
  }

  #endQuote(): void {
    this.#quoted = null;
    this.#write(this.#page.endQuote());
  }

  #own(rows: string): void {
    this.#quoted = null;
    this.#write(this.#page.own(Shown.cleaned(redactHandles(rows))));
  }

  #write(text: string): void {
    this.#out.write(Shown.cleaned(text, 'laid out'));
  }
}
