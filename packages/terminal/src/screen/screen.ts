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

/** Writes each row once, as it comes. */
class PlainScreen implements Screen {
  readonly #output: Output;
  readonly isLive = false;
  readonly isSmall = false;
  readonly maxLiveRows = 0;
  frameMs = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  get columns(): number {
    return this.#output.rowWidth;
  }

  get liveColumns(): number {
    return this.columns;
  }

  append(rows: readonly string[]): void {
    if (rows.length > 0) this.#output.write(Shown.cleaned(`${rows.join('\n')}\n`, 'laid out'));
  }

  changed(): void {}
  flush(): void {}
  suspend(): void {}
  resume(): void {}
  redraw(): void {}
  askPosition(): void {}
  close(): void {}
}
