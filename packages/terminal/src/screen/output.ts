/** The only way for a command to print. */

import type { Shown } from './shown.ts';

/** What the terminal behind an output can do. */
export interface Terminal {
  /** Understands control sequences; one that calls itself dumb, or nothing, does not. */
  readonly hasControls: boolean;
  /** Draws more than ASCII. */
  readonly hasUnicode: boolean;
  /** Nothing is drawn twice: whole lines, one behind the other, as a screen reader reads them. */
  readonly isPlain: boolean;
  /** Where a row is wrapped by a new width, the cursor goes down by the rows that come to be, also by those below it: xterm.js does so. */
  readonly sinksCursor: boolean;
  /** The first characters of every row that others wrote; no row of `svc` begins so. */
  readonly gutter: string;
  /** The same, and as wide, for a row below the transcript that may still change. */
  readonly openGutter: string;
  /** The gutter of what tools wrote and what a model thinks, where it stands beside answers. */
  readonly asideGutter: string;
  /** As many cells as any terminal of this locale gives the text at the most. */
  maxCellsOf(text: string): number;
  /** Rows of `svc` of so many columns: too long ones are continued behind blanks, none begins with the gutter. */
  wrapped(text: string, columns: number): string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const usualColumns = 80;
const fewestColumns = 20;
const cutRows = '\u001B[?7l';
const continueRows = '\u001B[?7h';

/** Rows between which terminals do not go on in a new row: one that they count wider than `svc` does is cut, not continued. */
export function cutting(rows: string): string {
  return cutRows + rows + continueRows;
}

/**
 * One of the two streams that a command prints to, and the only way to them. On a terminal a long row of `svc` goes on in rows that begin with
 * blanks, and none begins with the gutter, whatever is in it.
 */
export class Output {
  readonly #open: () => NodeJS.WritableStream;
  readonly terminal: Terminal | null;
  readonly #env: Environment;
  /** Writes a text without the stream; false where it has to go there. */
  readonly #writeAtOnce: (text: string) => boolean;

  constructor(
    open: () => NodeJS.WritableStream,
    terminal: Terminal | null = null,
    env: Environment = {},
    writeAtOnce: (text: string) => boolean = () => false,
  ) {
    this.#open = open;
    this.terminal = terminal;
    this.#env = env;
    this.#writeAtOnce = writeAtOnce;
  }

  /** The same stream, laid out for another terminal. */
  on(terminal: Terminal): Output {
    return new Output(this.#open, terminal, this.#env);
  }

  /** The stream, for its events `error` and `drain` alone. It is opened when first asked for. */
  get stream(): NodeJS.WritableStream {
    return this.#open();
  }

  /** Bytes that were written and that the stream has not handed on yet; none once it is broken. */
  get untaken(): number {
    const stream = this.#open() as { readonly writableLength?: number; readonly destroyed?: boolean };
    return stream.destroyed === true ? 0 : (stream.writableLength ?? 0);
  }

  get isTerminal(): boolean {
    return this.terminal !== null;
  }

  /** The width that rows have to fit, now; null where nothing has one: a file, a pipe without `COLUMNS`. */
  get columns(): number | null {
    const stream = this.terminal === null ? {} : (this.#open() as { columns?: number });
    const known = stream.columns ?? Number.parseInt(this.#env['COLUMNS'] ?? '', 10);
    if (Number.isInteger(known) && known > 0) return Math.max(known, fewestColumns);
    return this.terminal === null ? null : usualColumns;
  }

  /** The width of a terminal's rows. */
  get rowWidth(): number {
    return this.columns ?? usualColumns;
  }

  /** Resolves once the stream has taken what was written, or has failed. */
  async taken(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#open().write('', () => resolve());
    });
  }

  /** False when the stream takes no more for now: `drain` says when. `settled` receives once why the stream did not take it, or null. */
  write({ text, layout }: Shown, settled?: (refusal: Error | null) => void): boolean {
    const { terminal } = this;
    if (text === '' || (terminal === null && this.#writeAtOnce(text))) {
      settled?.(null);
      return true;
    }
    const done = (refusal?: Error | null): void => settled?.(refusal ?? null);
    if (terminal === null || layout === 'exact') return this.#open().write(text, done);
    const rows = layout === 'rows' ? terminal.wrapped(text, this.rowWidth) : text;
    // A piece of a row may come behind one that the terminal counts wider.
    const needsCut = terminal.hasControls && (layout === 'laid out' || /[^\n -~]/.test(rows));
    return this.#open().write(needsCut ? cutting(rows) : rows, done);
  }
}
