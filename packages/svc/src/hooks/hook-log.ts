/** Writes what hooks print into log files. */

import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import type { LogBudget } from '@svc/kit/log-budget.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Of what one hook writes in a session. */
const mostBytes = 4 * 1024 * 1024;
/** Of a line that has not ended. */
const mostHeld = 64 * 1024;
/** What of it stays back when it is written nevertheless: the beginning of a secret may be in it. */
const longestSecret = 8 * 1024;

const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

interface OpenLog {
  readonly fd: number;
  bytes: number;
  /** The beginning of a line whose end is still to come. */
  held: Buffer;
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
    if (log === null) return;
    const all = Buffer.concat([log.held, bytes]);
    const end = all.lastIndexOf(lineFeed) + 1;
    if (all.length - end <= mostHeld) {
      log.held = all.subarray(end);
      return this.#write(hookName, log, this.#clean(all.subarray(0, end)));
    }
    const clean = this.#clean(all);
    log.held = clean.subarray(-longestSecret);
    this.#write(hookName, log, clean.subarray(0, -longestSecret));
  }

  close(): void {
    for (const [name, log] of this.#logs) {
      if (log === null) continue;
      this.#write(name, log, this.#clean(log.held));
      this.#end(name, log);
    }
  }

  /** Bytes that are no text stay as they are where there is no secret in them. */
  #clean(bytes: Buffer): Buffer {
    const text = bytes.toString();
    const clean = this.#redact(text);
    return clean === text ? bytes : Buffer.from(clean);
  }

  #write(hookName: string, log: OpenLog, bytes: Buffer): void {
    const wanted = Math.min(bytes.length, mostBytes - log.bytes);
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
      log = { fd: openSync(join(this.#directory, `hook-${hookName}.log`), 'ax', 0o600), bytes: 0, held: nothing };
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
