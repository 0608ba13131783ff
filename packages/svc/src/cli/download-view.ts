import type { FetchObserver } from '@svc/artifacts/store/installed-artifact.ts';
import type { CommandContext } from './command-context.ts';
import { inMebibytes, ProgressLine } from './progress-line.ts';

interface Download {
  received: number;
  readonly announced: number | null;
}

/**
 * Shows downloads on a terminal's standard error: one line that tells how far those that run have got, and a line for each that is there.
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
