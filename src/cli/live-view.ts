import pc from 'picocolors';

import type { NumberedFrame } from '../wire/frames.ts';
import { redactHandles } from '../resources/handle-id.ts';
import { plainText } from './plain-text.ts';

const longestLine = 100;

/**
 * Shows a session's work on a terminal while it happens: each turn, each call with its outcome, the reply as it streams
 * (contracts §2). What a model or tool wrote reaches the terminal without control sequences.
 */
export class LiveView {
  readonly #out: NodeJS.WritableStream;
  readonly #color: ReturnType<typeof pc.createColors>;
  #inText = false;

  constructor(out: NodeJS.WritableStream, useColor: boolean) {
    this.#out = out;
    this.#color = pc.createColors(useColor);
  }

  show(frame: NumberedFrame): void {
    switch (frame.event) {
      case 'text':
        return this.#text(frame.text, frame.final);
      case 'thinking':
        return this.#stream(this.#color.dim(plainText(frame.text)));
      case 'artifact': {
        const mark = frame.isError ? this.#color.red('✗') : this.#color.green('✓');
        const exit = frame.exitCode === null ? '' : ` exit ${frame.exitCode}`;
        const took = frame.durationMs === null ? '' : ` ${frame.durationMs} ms`;
        return this.#line(
          `${mark} ${oneLine(frame.toolName)}${this.#color.dim(`${exit}${took}`)}${this.#reason(frame)}`,
        );
      }
      case 'status':
        return this.#status(frame.state, frame.message);
    }
  }

  /** The driver asks the model again within a turn. */
  retry(reason: string): void {
    this.#line(this.#color.yellow(`• asking the model again: ${oneLine(reason)}`));
  }

  #reason(frame: { isError: boolean; content: string }): string {
    if (!frame.isError) return '';
    const line = plainText(frame.content)
      .split('\n')
      .find((each) => each !== '' && !each.startsWith('<untrusted-content'));
    return line === undefined ? '' : this.#color.dim(` — ${line.slice(0, longestLine)}`);
  }

  #status(state: string, message: string): void {
    const { bold, cyan, dim, red, yellow } = this.#color;
    if (state === 'input-required') return this.#line(yellow(`? ${plainText(message)}`));
    if (state === 'working') return this.#line(cyan(`• ${plainText(message)}`));
    if (state === 'completed') return this.#line(dim(bold('done')));
    return this.#line(red(`${state}: ${plainText(message)}`));
  }

  #text(text: string, final: boolean): void {
    if (text !== '') this.#stream(plainText(text));
    if (final) this.#endText();
  }

  #stream(text: string): void {
    this.#out.write(text);
    this.#inText = !text.endsWith('\n');
  }

  #endText(): void {
    if (this.#inText) this.#out.write('\n');
    this.#inText = false;
  }

  #line(text: string): void {
    this.#endText();
    this.#out.write(`${redactHandles(text)}\n`);
  }
}

/** A name that a model made up may hold line feeds, and be of any length. */
function oneLine(text: string): string {
  return plainText(text).replaceAll('\n', ' ').slice(0, longestLine);
}
