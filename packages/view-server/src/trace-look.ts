/** Looks through a trace once for what a page shows of it: what is wrong with it, and which files it says were changed. */

import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { typeOfLine } from '@svc/record/sessions/trace-events.ts';
import { notStoppedIn } from './recorded-scope.ts';

export interface TraceLook {
  /** Why it cannot be the whole trace of a session that has ended well, one plain sentence each. */
  readonly notes: readonly string[];
  /** What its session could do although its grants might suggest otherwise. */
  readonly notStopped: readonly string[];
  /** The line that says what was granted; null where it does not begin with one that has a bound. */
  readonly start: string | null;
  /** Paths in the workdir, each once. */
  readonly changed: readonly string[];
  /** More were changed than are named. */
  readonly isCut: boolean;
}

/** Limit: only so much of longer traces is looked through. */
const maxLooked = 256 * 1024 * 1024;
/** Looked through before others have their turn. */
const [turnBytes, turnLines] = [1024 * 1024, 2000];
export const maxFiles = 1000;
const maxPath = 4096;
const maxChange = 16 * 1024;
const maxStart = 1024 * 1024;

const lineFeed = 0x0a;

/** One trace, which is looked through once, however often it is asked for and however long it grows. */
export class TraceLooks {
  #seen = new SeenLines();
  #offset = 0;
  #isTooLong = false;
  #isTooMany = false;
  #looking: Promise<void> = Promise.resolve();

  /** What is known of the trace as it is now; `isLive`: more of it may come, so that no end is missed. */
  async look(file: LineFile, isLive: boolean): Promise<TraceLook> {
    // One behind the other; each caller gets the errors of its own request.
    const looking = this.#looking.then(async () => await this.#goOn(file));
    this.#looking = looking.catch(() => {});
    await looking;
    const { size } = file;
    const seen = this.#seen;
    const notes: string[] = [];
    if (size === 0 && !isLive) notes.push('The trace is empty.');
    if (seen.count > 0 && !seen.begins) notes.push('The trace does not begin with the start of a session.');
    if (seen.odd > 0) {
      notes.push(`The trace has lines that are no events: ${seen.odd}, the first of them is line ${seen.firstOdd}.`);
    }
    if (this.#isTooLong) notes.push(`Line ${seen.count + 1} of the trace is longer than 16 MiB.`);
    if (this.#isTooMany) {
      notes.push(
        `What stands behind line ${seen.count} of the trace is not shown: svc writes no lines that are so short.`,
      );
    }
    if (size > 0 && !isLive) notes.push(...this.#endOf(file, size));
    return { notes, notStopped: seen.notStopped, start: seen.start, changed: [...seen.changed], isCut: seen.isCut };
  }

  #endOf(file: LineFile, size: number): readonly string[] {
    const isCut = file.readAt(size - 1, 1)[0] !== lineFeed;
    const isWhole = this.#isTooLong || this.#isTooMany || size > maxLooked || this.#seen.ends;
    return [
      ...(isCut ? ['The trace ends in the middle of a line.'] : []),
      ...(isWhole ? [] : ['The trace has no end of the session: it was killed, or could not write it.']),
    ];
  }

  async #goOn(file: LineFile): Promise<void> {
    if (file.size < this.#offset) {
      this.#seen = new SeenLines();
      this.#offset = 0;
      this.#isTooMany = false;
    }
    if (this.#isTooMany) return;
    const cursor = file.walk(this.#offset);
    let turn = this.#offset + turnBytes;
    let lines = 0;
    while (this.#offset < maxLooked && cursor.next()) {
      this.#seen.take(cursor.line);
      this.#offset = cursor.offset + cursor.line.length + 1;
      lines += 1;
      if (this.#offset < turn && lines < turnLines) continue;
      [turn, lines] = [this.#offset + turnBytes, 0];
      await yieldToLoop();
    }
    [this.#isTooLong, this.#isTooMany] = [cursor.isTooLong, cursor.isTooMany];
  }
}

class SeenLines {
  count = 0;
  odd = 0;
  firstOdd = 0;
  begins = false;
  ends = false;
  isCut = false;
  notStopped: readonly string[] = [];
  start: string | null = null;
  readonly changed = new Set<string>();

  /** Reads the beginning and the end of a line; it parses only a line that names a file, and one that another program wrote. */
  take(line: Buffer): void {
    this.count += 1;
    const type = typeOfLine(line);
    if (line[0] !== 0x7b || line.at(-1) !== 0x7d) {
      if (this.odd === 0) this.firstOdd = this.count;
      this.odd += 1;
    }
    if (this.count === 1) this.begins = type === 'session_start';
    if (this.begins && this.count === 1 && line.length <= maxStart) {
      this.start = line.toString('utf8');
      this.notStopped = notStoppedIn(this.start);
    }
    this.ends = type === 'session_end';
    if (type === 'file_change' && line.length <= maxChange) this.#takeChange(line);
  }

  #takeChange(line: Buffer): void {
    const path = pathIn(line.toString('utf8'));
    if (path === null || this.changed.has(path)) return;
    if (this.changed.size < maxFiles) this.changed.add(path);
    else this.isCut = true;
  }
}

function pathIn(line: string): string | null {
  try {
    const { path } = JSON.parse(line) as { readonly path?: unknown };
    if (typeof path !== 'string' || path.length > maxPath) return null;
    const normal = normalizeWorkdirPath(path) ?? '.';
    return normal === '.' ? null : normal;
  } catch {
    // No JSON: it names no file.
    return null;
  }
}
