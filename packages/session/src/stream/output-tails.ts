/** Gathers what running commands write into short pieces of text, few a second, for those who watch a session. */

import type { Clock } from '@svc/kit/clock.ts';
import { RedactedLines } from '@svc/kit/diagnostics/redacted-lines.ts';
import type { RunningCommand } from '../tools/tool.ts';
import type { CallPlace, OutputListener } from '../task/activity.ts';

/** The end of what a command has written since the piece before. */
export interface OutputPiece {
  readonly call: CallPlace;
  readonly commandName: string;
  /** Whole lines, as they came on both outputs; of a long line its end. */
  readonly text: string;
  /** Bytes in front of `text` that were left out. */
  readonly leftOutBytes: number;
}

/** At most ten pieces a second of each command. */
const everyMs = 100;
/** Limit for one piece, in bytes. */
const maxBytes = 4096;
/** Commands whose output is shown at a time; that of further ones is not. */
const maxCommands = 32;

interface OutputTailsOptions {
  readonly clock: Pick<Clock, 'after'>;
  readonly redact: (text: string) => string;
  readonly tell: (piece: OutputPiece) => void;
}

/** The tails of the commands that run. Holds 4 KiB of each, and of each of its outputs the line that has not ended, up to 64 KiB. */
export class OutputTails implements OutputListener {
  readonly #options: OutputTailsOptions;
  readonly #tails = new Map<number, OutputTail>();

  constructor(options: OutputTailsOptions) {
    this.#options = options;
  }

  wrote(call: CallPlace, command: RunningCommand, bytes: Buffer): void {
    let tail = this.#tails.get(command.number);
    if (tail === undefined) {
      if (this.#tails.size >= maxCommands) return;
      tail = new OutputTail(call, command.name, this.#options);
      this.#tails.set(command.number, tail);
    }
    tail.add(command.output, bytes);
  }

  over({ place }: CallPlace): void {
    for (const [number, tail] of this.#tails) {
      if (tail.place !== place) continue;
      tail.end();
      this.#tails.delete(number);
    }
  }

  /** Nobody watches any more. */
  close(): void {
    for (const tail of this.#tails.values()) tail.drop();
    this.#tails.clear();
  }
}

class OutputTail {
  readonly #call: CallPlace;
  readonly #commandName: string;
  readonly #options: OutputTailsOptions;
  readonly #lines: Readonly<Record<RunningCommand['output'], RedactedLines>>;
  #text: Buffer = Buffer.alloc(0);
  #leftOutBytes = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(call: CallPlace, commandName: string, options: OutputTailsOptions) {
    this.#call = call;
    this.#commandName = commandName;
    this.#options = options;
    this.#lines = { stdout: new RedactedLines(options.redact), stderr: new RedactedLines(options.redact) };
  }

  get place(): string {
    return this.#call.place;
  }

  add(output: RunningCommand['output'], bytes: Buffer): void {
    this.#append(this.#lines[output].take(bytes));
    if (this.#text.length > 0) this.#cancelTimer ??= this.#options.clock.after(everyMs, () => this.#tell());
  }

  end(): void {
    this.#append(this.#lines.stdout.rest());
    this.#append(this.#lines.stderr.rest());
    this.#tell();
  }

  drop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #append(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const all = bytes.length >= maxBytes ? bytes : Buffer.concat([this.#text, bytes]);
    const leftOut = Math.max(0, this.#text.length + bytes.length - maxBytes);
    this.#text = Buffer.from(all.subarray(-maxBytes));
    this.#leftOutBytes += leftOut;
  }

  #tell(): void {
    this.drop();
    const [bytes, leftOutBytes] = [this.#text, this.#leftOutBytes];
    this.#text = Buffer.alloc(0);
    this.#leftOutBytes = 0;
    if (bytes.length === 0) return;
    const start = leftOutBytes === 0 ? 0 : characterStart(bytes);
    const text = bytes.subarray(start).toString('utf8');
    this.#options.tell({ call: this.#call, commandName: this.#commandName, text, leftOutBytes: leftOutBytes + start });
  }
}

/** Where the first whole character begins, of bytes that were cut in front. */
function characterStart(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0b1100_0000) === 0b1000_0000) start += 1;
  return start;
}
