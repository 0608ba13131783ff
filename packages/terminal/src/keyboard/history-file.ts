/** Keeps texts in a file of the user's, one string of JSON a line, that several programs add to at the same time. */

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { temporaryName } from '@svc/kit/files/temporary-name.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { writeAllSync } from '@svc/kit/files/transfer-sync.ts';

const name = 'history';
const lockName = '.history.cutting';
/** No lock is held for a part of this time, except by a process that was killed. */
const staleLockMs = 60_000;

/** Only the end of a longer file is read. */
const maxRead = 4 * 1024 * 1024;
/** What is left of a file that is cut. */
const maxKept = 1024 * 1024;
export const maxEntries = 1000;
/** A file is cut when it has so many lines more: that writes all of it anew. */
const slack = 100;
/** How often a text is added to a file that others replace meanwhile. */
const maxAttempts = 20;

/** Where it stands and who wrote it is checked each time that it is opened; a link is never followed. */
export class HistoryFile {
  readonly #directory: string;
  #lines = 0;

  constructor(home: string) {
    this.#directory = join(home, '.svc');
  }

  /** The texts that are kept, oldest first, and what was found to be wrong. */
  read(): { readonly texts: readonly string[]; readonly warning: Diagnostic | null } {
    try {
      return this.#withDirectory((directory) => this.#read(directory));
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return { texts: [], warning: null };
      return { texts: [], warning: problemOf(error, 'read') };
    }
  }

  /** Adds a text behind all others. Returns what hindered it; no text that another program adds is lost. */
  add(text: string): Diagnostic | null {
    try {
      makeDirectories(this.#directory, 0o700);
      this.#withDirectory((directory) => this.#add(directory, `${JSON.stringify(text)}\n`));
      return null;
    } catch (error) {
      return problemOf(error, 'written');
    }
  }

  #withDirectory<T>(act: (directory: HeldDirectory) => T): T {
    const directory = HeldDirectory.at(this.#directory);
    try {
      refuseOthers(lstatSync(`${directory.path}/.`), '~/.svc');
      return act(directory);
    } finally {
      directory.close();
    }
  }

  #read(directory: HeldDirectory): { readonly texts: readonly string[]; readonly warning: Diagnostic | null } {
    const file = openExisting(directory, constants.O_RDONLY);
    try {
      const { lines, isWhole } = endOf(file);
      const texts = lines.map(textOf).filter((text) => text !== null);
      this.#lines = isWhole ? lines.length : maxEntries + slack;
      const broken = lines.length - texts.length;
      if (!isWhole) return { texts, warning: warning('~/.svc/history is longer than 4 MiB: only its end was read') };
      return { texts, warning: broken === 0 ? null : warning(`~/.svc/history has lines that are no texts: ${broken}`) };
    } finally {
      closeSync(file);
    }
  }

  #add(directory: HeldDirectory, line: string): void {
    // Another program that cuts the file may replace it meanwhile, and then no longer reads what is added to the old one.
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const file = openForAdding(directory);
      try {
        writeAllSync(file, Buffer.from(endsInLine(file) ? line : `\n${line}`));
        this.#lines += 1;
        if (isStillThere(directory, file)) break;
      } finally {
        closeSync(file);
      }
    }
    if (this.#lines >= maxEntries + slack) this.#cut(directory);
  }

  /** Leaves the newest texts. Another program that is at it makes this one let it be. */
  #cut(directory: HeldDirectory): void {
    const lock = directory.entry(lockName);
    if (!takeLock(lock)) return;
    try {
      const file = openExisting(directory, constants.O_RDONLY);
      const path = directory.entry(temporaryName());
      try {
        const { lines, end } = endOf(file);
        const kept = newestOf(lines);
        // Others add to it as soon as it has the name.
        const shorter = openSync(path, 'ax', 0o600);
        try {
          writeAllSync(shorter, Buffer.from(kept.map((line) => `${line}\n`).join('')));
          renameSync(path, directory.entry(name));
          // What was added to the old file since it was read, by a program that has seen its name in place.
          let place = end;
          for (let added = readFrom(file, place); added.length > 0; added = readFrom(file, place)) {
            writeAllSync(shorter, added);
            place += added.length;
          }
        } finally {
          closeSync(shorter);
        }
        this.#lines = kept.length;
      } finally {
        closeSync(file);
        rmSync(path, { force: true });
      }
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** Texts each once, at its last place. */
export function eachOnce(texts: readonly string[]): string[] {
  return Array.from(new Set(texts.toReversed())).toReversed();
}

function newestOf(lines: readonly string[]): readonly string[] {
  const newest = eachOnce(lines.filter((line) => textOf(line) !== null)).slice(-maxEntries);
  let bytes = 0;
  const first = newest.findLastIndex((line) => (bytes += Buffer.byteLength(line) + 1) > maxKept);
  return newest.slice(first + 1);
}

function textOf(line: string): string | null {
  try {
    const text: unknown = JSON.parse(line);
    return typeof text === 'string' && text !== '' ? text : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The whole lines at the end of a file, and the place behind them. */
function endOf(file: number): { readonly lines: string[]; readonly isWhole: boolean; readonly end: number } {
  const { size } = fstatSync(file);
  const start = Math.max(0, size - maxRead);
  const parts: Buffer[] = [];
  let read = start;
  for (let part = readFrom(file, read); part.length > 0 && read - start <= maxRead; part = readFrom(file, read)) {
    parts.push(part);
    read += part.length;
  }
  const bytes = Buffer.concat(parts);
  const length = bytes.lastIndexOf('\n') + 1;
  const lines = bytes.toString('utf8', 0, length).split('\n');
  // The rest of a line whose start was not read.
  if (start > 0) lines.shift();
  return { lines: lines.filter((line) => line !== ''), isWhole: start === 0, end: start + length };
}

function readFrom(file: number, place: number): Buffer {
  const part = Buffer.allocUnsafe(1024 * 1024);
  return part.subarray(0, readSync(file, part, 0, part.length, place));
}

/** A line that was written in part, when the disk was full, is ended first. */
function endsInLine(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size === 0 || (readSync(file, last, 0, 1, size - 1) === 1 && last.toString() === '\n');
}

function isStillThere(directory: HeldDirectory, file: number): boolean {
  const [open, named] = [fstatSync(file), lstatSync(directory.entry(name), { throwIfNoEntry: false })];
  return named !== undefined && open.ino === named.ino && open.dev === named.dev;
}

function openExisting(directory: HeldDirectory, flags: number): number {
  const opened = directory.openFile(name, flags);
  if (opened.kind !== 'file') throw refusal(`~/.svc/history is ${kinds[opened.kind]}`);
  return checked(opened.fd);
}

const kinds = { link: 'a link', directory: 'a directory', other: 'no file' };

function openForAdding(directory: HeldDirectory): number {
  const { O_APPEND, O_RDWR } = constants;
  try {
    return checked(directory.createFile(name, O_RDWR | O_APPEND, 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    return openExisting(directory, O_RDWR | O_APPEND);
  }
}

/** What was typed is for nobody else to read, and what others wrote was not typed. */
function checked(file: number): number {
  try {
    const stat = fstatSync(file);
    refuseOthers(stat, '~/.svc/history');
    if ((stat.mode & 0o077) !== 0) fchmodSync(file, 0o600);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function refuseOthers(stat: Stats, what: string): void {
  const own = process.getuid?.();
  if (own !== undefined && stat.uid !== own) throw refusal(`${what} is of another user`);
}

function takeLock(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
  // The next one who wants to cut finds it free. One that is gone by now may be another's already.
  const held = lstatSync(path, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > staleLockMs) unlessRefused(() => unlinkSync(path), undefined);
  return false;
}

function warning(message: string, cause?: unknown): Diagnostic {
  return new Diagnostic('W-RUN-128', message, {
    cause,
    hint: 'mend or remove the file, or start the chat with --no-history',
  });
}

const refusal = warning;

/** What hindered the reading or writing, in words. */
function problemOf(error: unknown, attempt: 'read' | 'written'): Diagnostic {
  if (error instanceof Diagnostic) return error;
  if (!isSystemError(error)) throw error;
  const reason = isObstacle(error) ? 'a link or a file stands in its way' : systemReason(error);
  return warning(`~/.svc/history cannot be ${attempt}: ${reason}`, error);
}
