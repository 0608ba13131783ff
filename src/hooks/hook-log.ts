import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { isSystemError } from '../diagnostics/system-reason.ts';

/** Of what one hook writes in a session. */
const mostBytes = 4 * 1024 * 1024;

interface OpenLog {
  readonly fd: number;
  bytes: number;
}

/**
 * What hooks write to stdout and stderr, each in `logs/hook-<name>.log` of the session directory, owner-only, its first 4 MiB. A disk
 * that is full or broken ends the keeping and nothing else.
 */
export class HookLogs {
  readonly #directory: string;
  readonly #logs = new Map<string, OpenLog | null>();

  constructor(sessionDirectory: string) {
    this.#directory = join(sessionDirectory, 'logs');
  }

  append(hookName: string, bytes: Uint8Array): void {
    const log = this.#open(hookName);
    if (log === null) return;
    const fitting = bytes.subarray(0, mostBytes - log.bytes);
    if (!onDisk(() => writeSync(log.fd, fitting))) return this.#end(hookName, log);
    log.bytes += fitting.length;
    if (fitting.length < bytes.length) this.#end(hookName, log);
  }

  close(): void {
    for (const [name, log] of this.#logs) if (log !== null) this.#end(name, log);
  }

  #open(hookName: string): OpenLog | null {
    const known = this.#logs.get(hookName);
    if (known !== undefined) return known;
    let log: OpenLog | null = null;
    onDisk(() => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      log = { fd: openSync(join(this.#directory, `hook-${hookName}.log`), 'ax', 0o600), bytes: 0 };
    });
    this.#logs.set(hookName, log);
    return log;
  }

  #end(hookName: string, { fd }: OpenLog): void {
    this.#logs.set(hookName, null);
    closeSync(fd);
  }
}

/** False when the file system refused. */
function onDisk(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return false;
  }
}
