/** Remembers which files of a workdir `svc` has written itself. */

import { basename, dirname, join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { type Guarded, isListOf, isMapOf, isObjectOf, isText, isWhole } from '@svc/kit/guards.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';

const isContent = isObjectOf({ bytes: isWhole, sha256: isText });
const isRecord = isObjectOf({
  workdir: isText,
  /** The written contents, by path below the workdir. The list is empty for a place that was free when svc took it and has not been written since. */
  files: isMapOf(isListOf(isContent)),
});

/** Identifies the content of a file by size and hash. */
export type Content = Guarded<typeof isContent>;

type Files = Guarded<typeof isRecord>['files'];

/** A crash between the write of a file and its record leaves the content before or the one to come; another session may write once in between. */
const maxRemembered = 3;
const largestRecord = 16 * 1024 * 1024;

interface WrittenFilesPlace {
  /** Canonical. */
  readonly workdir: string;
  /** `.svc/` directories that are out of the agent's reach. Each remembers the same list. */
  readonly keepers: readonly string[];
}

/**
 * Which files of a workdir `svc` has written itself, over all sessions. Each keeper holds `workdirs/<session>.json` for the workdir that a session
 * was given beside it, and `workdirs/<hash of the workdir>.json` for any other, owner-only. A record in one of them suffices.
 */
export class WrittenFiles {
  readonly #workdir: string;
  readonly #records: readonly string[];

  constructor({ workdir, keepers }: WrittenFilesPlace) {
    this.#workdir = workdir;
    this.#records = [...new Set(keepers)].map((keeper) => join(keeper, 'workdirs', `${nameOf(workdir, keeper)}.json`));
  }

  /** What `svc` may have left at a path below the workdir; null when that place was never its own. */
  at(path: string): readonly Content[] | null {
    return this.#read()[path] ?? null;
  }

  /** Takes places that were free. `E-IO-001` when svc cannot record that. */
  take(paths: readonly string[]): void {
    const files = this.#read();
    const added = paths.filter((path) => files[path] === undefined);
    if (added.length === 0) return;
    try {
      this.#write({ ...files, ...Object.fromEntries(added.map((path) => [path, []])) });
    } catch (error) {
      throw ioFault(error, `what svc writes into ${this.#workdir} cannot be remembered`);
    }
  }

  /** Call it before the file is written. The next session moves a file without a record aside instead of replacing it. */
  remember(path: string, text: string): void {
    const files = this.#read();
    const content = contentOf(Buffer.from(text));
    const before = (files[path] ?? []).filter(({ sha256 }) => sha256 !== content.sha256);
    unlessRefused(() => this.#write({ ...files, [path]: [...before, content].slice(-maxRemembered) }), undefined);
  }

  #read(): Files {
    const files: Record<string, readonly Content[]> = {};
    for (const record of this.#records) {
      for (const [path, contents] of Object.entries(readRecord(record))) {
        const known = files[path] ?? [];
        files[path] = [...known, ...contents.filter(({ sha256 }) => !known.some((each) => each.sha256 === sha256))];
      }
    }
    return files;
  }

  #write(files: Files): void {
    const bytes = Buffer.from(`${JSON.stringify({ workdir: this.#workdir, files })}\n`);
    for (const record of this.#records) {
      makeDirectories(dirname(record), 0o700);
      replaceFileSync(record, bytes, { mode: 0o600, isDurable: false });
    }
  }
}

/** A session's own workdir is named after it: only starts with another workdir load hashing. */
function nameOf(workdir: string, keeper: string): string {
  const name = basename(workdir);
  const isOfSession = isSessionId(name) && workdir === join(dirname(keeper), 'workdir', name);
  return isOfSession ? name : sha256Hex(workdir);
}

export function contentOf(bytes: Uint8Array): Content {
  return { bytes: bytes.length, sha256: sha256Hex(bytes) };
}

/** Returns an empty record if none can be read: then no file in the workdir counts as `svc`'s. */
function readRecord(path: string): Files {
  try {
    const record: unknown = JSON.parse(String(readFileUpTo(path, largestRecord)));
    return isRecord(record) ? record.files : {};
  } catch (error) {
    if (isSystemError(error) || error instanceof SyntaxError) return {};
    throw error;
  }
}
