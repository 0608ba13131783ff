import type { CommandContext } from './command-context.ts';
import { cutToWidth } from './terminal/cell-width.ts';
import { exact, say, Shown } from './terminal/shown.ts';

const mebibyte = 1024 * 1024;
const usualColumns = 80;
const eraseLine = '\r\u001B[2K';

/** One line on a terminal's standard error that tells how far something has got, below the lines that are said meanwhile. Silent anywhere else. */
export class ProgressLine {
  readonly #context: Pick<CommandContext, 'stderr'>;
  readonly #isShown: boolean;
  #shown = '';

  constructor(context: Pick<CommandContext, 'stderr'>, isShown: boolean) {
    this.#context = context;
    this.#isShown = isShown;
  }

  /** Writes only what has changed; an empty text erases the line. */
  show(text: string): void {
    const line = cutToWidth(
      exact(text),
      (this.#isShown ? (this.#context.stderr.columns ?? usualColumns) : usualColumns) - 1,
    );
    if (line === this.#shown) return;
    this.#write(Shown.cleaned(`${this.#shown === '' ? '' : eraseLine}${line}`, 'laid out'));
    this.#shown = line;
  }

  /** A line of its own. */
  say(text: string): void {
    this.show('');
    this.#write(say`${text}\n`);
  }

  #write(text: Shown): void {
    // The stream is opened when something is written to it.
    if (this.#isShown) this.#context.stderr.write(text);
  }
}

/** How much of a whole is there; a chunk moves the tenth of a mebibyte rarely. */
export function inMebibytes(bytes: number, of: number | null): string {
  return `${tenths(bytes)}${of === null ? '' : ` of ${tenths(of)}`} MiB`;
}

function tenths(bytes: number): string {
  return (bytes / mebibyte).toFixed(1);
}
