/** Keeps what the programs behind the driver and the tools of a session write to standard error. */

import { closeSync, constants, realpathSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';

import { RedactedLines } from '@svc/kit/diagnostics/redacted-lines.ts';
import type { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { readOutput } from '@svc/sandbox/launched-process.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';

/** Limit for what the programs of one owner write in a session. */
const maxBytes = 16 * 1024 * 1024;
/** Taken from the budget with each file, for the lines that say what is missing. */
const noteBytes = 256;

const { O_APPEND, O_WRONLY } = constants;
const lineFeed = 0x0a;

/** Whose programs they are: the driver, or the artifact of that name. */
export type ProgramOwner = 'driver' | `mcp-${string}` | `tool-${string}`;

export interface ProgramLogsSettings {
  readonly sessionDirectory: string;
  readonly redactor: Redactor;
  readonly budget: LogBudget;
}

/**
 * What the programs of each owner write, in `logs/stderr-<owner>.log` of the session directory: owner-only, its first 16 MiB, by lines as they
 * end and without the secrets. The file is made with the first of them, and its last lines say what was not kept. A disk that is full or broken
 * ends the keeping and nothing else.
 */
export class ProgramLogs {
  readonly #settings: ProgramLogsSettings;
  /** Canonical while no program runs: a link that one puts in its place is not followed. */
  readonly #directory: string;
  readonly #logs = new Map<ProgramOwner, ProgramLog>();

  constructor(settings: ProgramLogsSettings) {
    this.#settings = settings;
    this.#directory = realpathSync(settings.sessionDirectory);
  }

  /** The same door; the standard error of what starts through it is kept as it is read. */
  keeping(launcher: Launcher, owner: ProgramOwner): Launcher {
    return {
      ...launcher,
      launch: async (request) => {
        const outcome = await launcher.launch(request);
        if (outcome.kind === 'refused') return outcome;
        const { process: launched } = outcome;
        const stderr = Readable.from(this.#kept(launched.stderr, owner), { objectMode: false });
        return { ...outcome, process: { ...launched, stderr } };
      },
    };
  }

  /** Says in each what is missing. Programs that still run are not followed further. */
  close(): void {
    for (const log of this.#logs.values()) log.close();
  }

  async *#kept(output: Readable, owner: ProgramOwner): AsyncGenerator<Buffer, void, undefined> {
    const lines = new RedactedLines(recordRedaction(this.#settings.redactor));
    const log = this.#logOf(owner);
    try {
      for await (const chunk of readOutput(output)) {
        if (log.isFull) log.drop(chunk.length);
        else log.append(lines.take(chunk), lines);
        yield chunk;
      }
    } finally {
      log.append(lines.rest(), lines);
    }
  }

  #logOf(owner: ProgramOwner): ProgramLog {
    let log = this.#logs.get(owner);
    if (log === undefined) {
      log = new ProgramLog(this.#directory, `stderr-${owner}.log`, this.#settings.budget);
      this.#logs.set(owner, log);
    }
    return log;
  }
}

/** One file, to which several programs may write at once, a line at a time. */
class ProgramLog {
  readonly #sessionDirectory: string;
  readonly #name: string;
  readonly #budget: LogBudget;
  /** It is null before the first bytes, and where there is no file or no more. */
  #fd: number | null = null;
  #isBegun = false;
  #bytes = 0;
  #droppedBytes = 0;
  #isMidLine = false;
  #lastFrom: RedactedLines | null = null;
  #isFull = false;

  constructor(sessionDirectory: string, name: string, budget: LogBudget) {
    this.#sessionDirectory = sessionDirectory;
    this.#name = name;
    this.#budget = budget;
  }

  /** Whether nothing more is kept. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Starts a new line if another program's last line is unfinished. */
  append(bytes: Buffer, from: RedactedLines): void {
    if (bytes.length === 0) return;
    const isAfterAnother = this.#isMidLine && from !== this.#lastFrom;
    this.#lastFrom = from;
    this.#append(isAfterAnother ? Buffer.concat([Buffer.from('\n'), bytes]) : bytes);
  }

  #append(bytes: Buffer): void {
    if (!this.#isBegun) this.#begin();
    if (this.#isFull) return this.drop(bytes.length);
    const wanted = Math.min(bytes.length, maxBytes - this.#bytes);
    const fitting = bytes.subarray(0, this.#budget.take(wanted));
    this.#write(fitting);
    this.#bytes += fitting.length;
    if (fitting.length === bytes.length) return;
    this.#isFull = true;
    this.drop(bytes.length - fitting.length);
    const why =
      fitting.length < wanted
        ? `all logs of a session hold ${this.#budget.maxBytes} bytes at most`
        : `a log of standard error holds ${maxBytes} bytes at most`;
    this.#note(`from here on nothing is kept: ${why}`);
  }

  drop(bytes: number): void {
    this.#droppedBytes += bytes;
  }

  close(): void {
    if (this.#droppedBytes > 0) this.#note(`${this.#droppedBytes} bytes were not kept`);
    this.#end();
  }

  #begin(): void {
    this.#isBegun = true;
    const isGranted = this.#budget.takeWhole(noteBytes);
    if (isGranted) this.#fd = unlessRefused(() => createLog(this.#sessionDirectory, this.#name), null);
    this.#isFull = this.#fd === null;
  }

  #note(text: string): void {
    this.#write(Buffer.from(`${this.#isMidLine ? '\n' : ''}[svc: ${text}]\n`));
  }

  #write(bytes: Buffer): void {
    const fd = this.#fd;
    if (fd === null || bytes.length === 0) return;
    this.#isMidLine = bytes.at(-1) !== lineFeed;
    const isWritten = unlessRefused(() => writeSync(fd, bytes) === bytes.length, false);
    if (!isWritten) this.#end();
  }

  /** Nothing more is kept. */
  #end(): void {
    this.#isFull = true;
    this.#isBegun = true;
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/** A new file for its owner alone, reached through no link. */
function createLog(sessionDirectory: string, name: string): number {
  const session = HeldDirectory.open(sessionDirectory);
  try {
    const logs = session.enter('logs', 0o700);
    try {
      return logs.createFile(name, O_WRONLY | O_APPEND, 0o600);
    } finally {
      logs.close();
    }
  } finally {
    session.close();
  }
}
