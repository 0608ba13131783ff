/** Shows on a terminal how far downloads and uploads are. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { cutToWidth } from '@svc/terminal/screen/terminal-kind.ts';
import { exact, say, Shown } from '@svc/terminal/screen/shown.ts';
import type { FetchObserver } from '@svc/artifacts/store/installed-artifact.ts';

const mebibyte = 1024 * 1024;
const usualColumns = 80;
const eraseLine = '\r\u001B[2K';

/** One line on a terminal's standard error that says how far something has got, below the lines that are said meanwhile. Silent anywhere else. */
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

interface Download {
  received: number;
  readonly announced: number | null;
}

/**
 * Shows downloads on a terminal's standard error: one line that says how far those that run have got, and a line for each that is there.
 * Silent anywhere else. Names of others' files are shown without control characters.
 */
export class DownloadView implements FetchObserver {
  readonly #line: ProgressLine;
  readonly #running = new Map<string, Download>();
  /** What was downloaded, to the name of its source. */
  readonly #sources = new Map<string, string>();

  constructor(context: Pick<CommandContext, 'stderr'>, isShown: boolean) {
    this.#line = new ProgressLine(context, isShown);
  }

  /** Where it came from; undefined when it was not downloaded. */
  sourceOf(what: string): string | undefined {
    return this.#sources.get(what);
  }

  started(what: string, announcedBytes: number | null): void {
    this.#running.set(what, { received: 0, announced: announcedBytes });
    this.#line.show(this.#progress());
  }

  received(what: string, bytes: number): void {
    const download = this.#running.get(what);
    if (download === undefined) return;
    download.received += bytes;
    this.#line.show(this.#progress());
  }

  ended(what: string, { source, isStored }: { readonly source: string; readonly isStored: boolean }): void {
    this.#running.delete(what);
    this.#line.show('');
    if (isStored) {
      this.#sources.set(what, source);
      this.say(`fetched ${what} from ${source}`);
    }
    this.#line.show(this.#progress());
  }

  /** A line of its own. */
  say(text: string): void {
    this.#line.say(text);
  }

  #progress(): string {
    const running = [...this.#running.values()];
    if (running.length === 0) return '';
    const received = running.reduce((sum, download) => sum + download.received, 0);
    const announced = running.reduce<number | null>(
      (sum, download) => (sum === null || download.announced === null ? null : sum + download.announced),
      0,
    );
    const what = running.length === 1 ? [...this.#running.keys()].join('') : `${running.length} archives`;
    return `fetching ${what}: ${inMebibytes(received, announced)}`;
  }
}
