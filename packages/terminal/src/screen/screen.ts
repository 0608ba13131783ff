/** What a session is shown on: a terminal with live rows, or whole lines one behind the other. */

import { type LiveRows, LiveScreen } from './live-screen.ts';
import type { Output } from './output.ts';
import { Shown } from './shown.ts';

/** A transcript, and below it rows that change, where the terminal can change them. Rows are laid out for `columns` by who hands them in. */
export interface Screen {
  readonly columns: number;
  /** The width of rows below the transcript. */
  readonly liveColumns: number;
  /** False where nothing is drawn twice: there are no live rows then. */
  readonly isLive: boolean;
  readonly isSmall: boolean;
  readonly maxLiveRows: number;
  frameMs: number;
  append(rows: readonly string[]): void;
  changed(): void;
  flush(): void;
  suspend(): void;
  resume(): void;
  redraw(): void;
  askPosition(): void;
  close(): void;
}

/** `live` is asked for what stands below the transcript, `onResize` called when the width has changed. */
export function openScreen(output: Output, live: () => LiveRows, onResize: () => void): Screen {
  if (output.terminal === null || output.terminal.isPlain) return new PlainScreen(output);
  return new LiveScreen(output, live, onResize);
}

/** Takes each row once, as it comes, and draws nothing. */
abstract class StillScreen implements Screen {
  abstract readonly columns: number;
  readonly isLive = false;
  readonly isSmall = false;
  readonly maxLiveRows = 0;
  frameMs = 0;

  get liveColumns(): number {
    return this.columns;
  }

  abstract append(rows: readonly string[]): void;

  changed(): void {}
  flush(): void {}
  suspend(): void {}
  resume(): void {}
  redraw(): void {}
  askPosition(): void {}
  close(): void {}
}

/** Writes each row. */
class PlainScreen extends StillScreen {
  readonly #output: Output;

  constructor(output: Output) {
    super();
    this.#output = output;
  }

  get columns(): number {
    return this.#output.rowWidth;
  }

  append(rows: readonly string[]): void {
    if (rows.length > 0) this.#output.write(Shown.cleaned(`${rows.join('\n')}\n`, 'laid out'));
  }
}

/** Keeps the rows, for who shows them as a whole. */
export class RowCollector extends StillScreen {
  readonly rows: string[] = [];
  readonly columns: number;

  /** Without an end, nothing is cut or continued. */
  constructor(columns: number) {
    super();
    this.columns = columns;
  }

  append(rows: readonly string[]): void {
    for (const row of rows) this.rows.push(row);
  }
}
