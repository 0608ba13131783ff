/** Starts the process of a child and reads what it prints. */

import type { Readable } from 'node:stream';

import type { Clock } from '@svc/kit/clock.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { GatheredBytes } from '@svc/kit/gathered-bytes.ts';
import type { LaunchedProcess, LaunchEnd } from '@svc/sandbox/launcher.ts';
import { OutputTail, readOutput } from '@svc/sandbox/launched-process.ts';

export type FirstLine =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'too-long' }
  /** Standard output was closed before a line was whole. */
  | { readonly kind: 'none' };

const maxLineBytes = 64 * 1024;
/** Twice what is shown: a secret that the cut goes through would not be known as one. */
const keptStderrBytes = 8192;
const shownStderrCharacters = 4000;

/** A child that has been started. Both its outputs are read for as long as it runs, so that no full pipe holds it up. */
export class ChildProcess {
  /** Settles with the first line of standard output; what follows is thrown away. */
  readonly firstLine: Promise<FirstLine>;
  /** Settles once it ended and both outputs were read to their ends. */
  readonly ended: Promise<LaunchEnd>;
  readonly #launched: LaunchedProcess;
  readonly #clock: Clock;
  readonly #stderr = new OutputTail(keptStderrBytes);
  #isOver = false;

  constructor(launched: LaunchedProcess, clock: Clock) {
    this.#launched = launched;
    this.#clock = clock;
    let tell: (line: FirstLine) => void = () => {};
    this.firstLine = new Promise((resolve) => {
      tell = resolve;
    });
    const outputs = [readFirstLine(launched.stdout, tell), this.#stderr.read(launched.stderr)];
    this.ended = Promise.all([launched.ended, ...outputs]).then(([end]) => {
      this.#isOver = true;
      return end;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Writes everything that it is to read from standard input, and closes that. */
  tell(text: string): void {
    this.#launched.stdin?.end(text);
  }

  /** Asks its whole group to end, and ends it after `graceMs`. Settles when it is over; harmless after that. */
  async end(graceMs: number): Promise<LaunchEnd> {
    if (this.#isOver) return await this.ended;
    this.#launched.kill('SIGTERM');
    const cancelTimer = this.#clock.after(graceMs, () => this.#launched.kill('SIGKILL'));
    const end = await this.ended;
    cancelTimer();
    return end;
  }

  /** Its last lines on standard error, safe to print and without the secrets that `redact` knows; empty when it wrote nothing. */
  lastWords(redact: (text: string) => string): string {
    const lines = redact(this.#stderr.text()).slice(-shownStderrCharacters).split(/\r?\n/);
    return lines.map(printable).join('\n');
  }
}

/** How a child ended and what it said last, for a person or a model. */
export function describeEnd(end: LaunchEnd, lastWords: string): string {
  const how = end.kind === 'exited' ? `exit status ${end.exitCode}` : `ended by ${end.signal}`;
  return lastWords === '' ? how : `${how}; its last words on stderr:\n${lastWords}`;
}

const lineFeed = 0x0a;

async function readFirstLine(output: Readable, tell: (line: FirstLine) => void): Promise<void> {
  let held: GatheredBytes | null = new GatheredBytes();
  for await (const chunk of readOutput(output)) {
    if (held === null) continue;
    const end = chunk.indexOf(lineFeed);
    held.append(end === -1 ? chunk : chunk.subarray(0, end));
    if (held.length <= maxLineBytes && end === -1) continue;
    tell(held.length > maxLineBytes ? { kind: 'too-long' } : { kind: 'line', text: held.take().toString('utf8') });
    held = null;
  }
  tell({ kind: 'none' });
}
