/** Writes the files of hooks: what they print, and what they put beside the trace. */

import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import type { NameTable } from '@svc/artifacts/store/archive-entry.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RedactedLines } from '@svc/kit/diagnostics/redacted-lines.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ManifestFile } from './wit-hook.ts';

/** How much is kept of what one hook writes in a session. */
const maxBytes = 4 * 1024 * 1024;

interface OpenLog {
  readonly fd: number;
  readonly lines: RedactedLines;
  bytes: number;
}

/**
 * What hooks write to stdout and stderr, each in `logs/hook-<name>.log` of the session directory, owner-only, its first 4 MiB. A line is
 * written once it has ended, without the secrets. A disk that is full or broken ends the keeping and nothing else.
 */
export class HookLogs {
  readonly #directory: string;
  readonly #budget: LogBudget;
  readonly #redact: (text: string) => string;
  readonly #logs = new Map<string, OpenLog | null>();

  constructor(sessionDirectory: string, redact: (text: string) => string, budget: LogBudget) {
    this.#budget = budget;
    this.#directory = join(sessionDirectory, 'logs');
    this.#redact = redact;
  }

  append(hookName: string, bytes: Uint8Array): void {
    const log = this.#open(hookName);
    if (log !== null)
      this.#write(hookName, log, log.lines.take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)));
  }

  close(): void {
    for (const [name, log] of this.#logs) {
      if (log === null) continue;
      this.#write(name, log, log.lines.rest());
      this.#end(name, log);
    }
  }

  #write(hookName: string, log: OpenLog, bytes: Buffer): void {
    const wanted = Math.min(bytes.length, maxBytes - log.bytes);
    const fitting = bytes.subarray(0, this.#budget.take(wanted));
    if (!onDisk(() => writeSync(log.fd, fitting))) return this.#end(hookName, log);
    log.bytes += fitting.length;
    if (fitting.length < bytes.length) this.#end(hookName, log);
  }

  #open(hookName: string): OpenLog | null {
    const known = this.#logs.get(hookName);
    if (known !== undefined) return known;
    let log: OpenLog | null = null;
    onDisk(() => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const fd = openSync(join(this.#directory, `hook-${hookName}.log`), 'ax', 0o600);
      log = { fd, bytes: 0, lines: new RedactedLines(this.#redact) };
    });
    this.#logs.set(hookName, log);
    return log;
  }

  #end(hookName: string, { fd }: OpenLog): void {
    if (this.#logs.get(hookName) === null) return;
    this.#logs.set(hookName, null);
    closeSync(fd);
  }
}

/** False when the file system refused. */
function onDisk(work: () => void): boolean {
  return unlessRefused(() => {
    work();
    return true;
  }, false);
}

/** How many files all hooks of a session may write. */
const maxFiles = 256;

/** The files that hooks write at on-stage: `manifests/` of the session directory, owner-only, out of the agent's reach. */
export class ManifestFiles {
  readonly #directory: string;
  #names: NameTable | null = null;
  #count = 0;

  constructor(sessionDirectory: string) {
    this.#directory = join(sessionDirectory, 'manifests');
  }

  /**
   * Writes what one hook commits, every file whole; gives why it did not. It writes nothing for a name with a directory part, one that is
   * there already or too many files; on a full disk it may have written the first of them.
   */
  async write(files: readonly ManifestFile[]): Promise<string | null> {
    if (this.#count + files.length > maxFiles) return `write-manifests: a session has at most ${maxFiles} such files`;
    // Few capsules have a hook that writes any.
    const { entryNameFault, NameTable } = await import('@svc/artifacts/store/archive-entry.ts');
    const names = (this.#names ??= new NameTable());
    for (const { name } of files) {
      const fault = name.includes('/') ? 'has a directory part' : entryNameFault(name);
      if (fault !== null) return `write-manifests: the file ${quoted(name)} ${fault}`;
    }
    for (const { name } of files) {
      const taken = names.add(name, 'file');
      if (taken !== null) return `write-manifests: the file ${quoted(name)} ${taken}`;
    }
    this.#count += files.length;
    return await this.#writeAll(files);
  }

  async #writeAll(files: readonly ManifestFile[]): Promise<string | null> {
    try {
      makePrivate(this.#directory);
      for (const { name, content } of files)
        await replaceFile(join(this.#directory, name), [Buffer.from(content)], { mode: 0o600 });
      return null;
    } catch (error) {
      if (error instanceof Diagnostic) return `write-manifests: ${error.message}`;
      throw error;
    }
  }
}

function makePrivate(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw ioFault(error, `the directory ${directory} cannot be made`);
  }
}
