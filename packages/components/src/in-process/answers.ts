/** Writes down what a driver in this process is answered, or answers it from there. */

import { RequestFailure } from '@svc/guest/request-failure.ts';
import {
  type ImportLogEntry,
  type ImportMode,
  type LoggedOutcome,
  type LoggedValue,
  parseImportLog,
} from '../import-log.ts';
import { partedAt } from '../parted.ts';

/** What a driver asks for; the names stand in logs, behind `in-process#`. */
type Operation = 'start' | 'post' | 'header' | 'read' | 'sleep' | 'now';

const prefix = 'in-process#';

/** Whether a log is that of a driver that ran in the process of its session, from its start on. */
export function isInProcessLog(log: string): boolean {
  return log.startsWith(`[["${prefix}start"`);
}

/** How operations get their answers: `live` carries them out. */
export interface Answers {
  /** `args` are given where they are needed: they may be large. */
  answer<T extends LoggedValue>(
    name: Operation,
    args: () => readonly LoggedValue[],
    live: () => T | Promise<T>,
  ): T | Promise<T>;
}

/** Carries out each operation, and writes nothing down. */
export const liveAnswers: Answers = { answer: (_name, _args, live) => live() };

/** Carries out each operation and writes down what it came to, up to `maxBytes` between two takes. */
export class RecordedAnswers implements Answers {
  readonly #maxBytes: number;
  #entries: string[] = [];
  #bytes = 0;
  /** Nothing of this driver is kept from here on: it could not be run again. */
  #isFull = false;

  constructor({ maxBytes }: Extract<ImportMode, { readonly kind: 'recorded' }>) {
    this.#maxBytes = maxBytes;
  }

  answer<T extends LoggedValue>(
    name: Operation,
    args: () => readonly LoggedValue[],
    live: () => T | Promise<T>,
  ): T | Promise<T> {
    if (this.#isFull) return live();
    const given = args();
    const keep = (outcome: LoggedOutcome): void => this.#keep([`${prefix}${name}`, given, outcome]);
    try {
      const value = live();
      if (!(value instanceof Promise)) {
        keep({ ok: value });
        return value;
      }
      return value.then(
        (came) => {
          keep({ ok: came });
          return came;
        },
        (error: unknown) => {
          keep(failed(error));
          throw error;
        },
      );
    } catch (error) {
      keep(failed(error));
      throw error;
    }
  }

  #keep(entry: ImportLogEntry): void {
    if (this.#isFull) return;
    const text = JSON.stringify(entry);
    this.#bytes += Buffer.byteLength(text) + 1;
    this.#isFull = this.#bytes > this.#maxBytes;
    if (this.#isFull) this.#entries = [];
    else this.#entries.push(text);
  }

  /** What was asked since the last take, as JSON; null once it was too much. */
  take(): string | null {
    const log = this.#isFull ? null : `[${this.#entries.join(',')}]`;
    this.#entries = [];
    this.#bytes = 0;
    return log;
  }
}

function failed(error: unknown): LoggedOutcome {
  if (!(error instanceof RequestFailure)) return { trap: error instanceof Error ? error.message : String(error) };
  const { message, transient, retryAfterMs } = error;
  return { err: { message, transient, retryAfterMs } };
}

/** Answers each operation as a log says, and carries nothing out. */
export class PlayedAnswers implements Answers {
  #log: readonly ImportLogEntry[] = [];
  #next = 0;

  /** What is played from now on. */
  load(log: string): void {
    this.#log = parseImportLog(log) ?? [];
    this.#next = 0;
  }

  /** Throws `ComponentParted` where the driver asks for something else than it did. */
  answer<T extends LoggedValue>(name: Operation, args: () => readonly LoggedValue[], _live: () => T | Promise<T>): T {
    const asked = `${prefix}${name}`;
    const entry = this.#log[this.#next];
    const given = args();
    if (entry === undefined || entry[0] !== asked || JSON.stringify(entry[1]) !== JSON.stringify(given)) {
      throw partedAt(entry, asked, given);
    }
    this.#next += 1;
    const [, , outcome] = entry;
    if ('ok' in outcome) return outcome.ok as T;
    throw 'trap' in outcome ? new Error(outcome.trap) : failureOf(outcome.err);
  }

  /** The driver has returned. Throws `ComponentParted` where its log goes on. */
  finish(): void {
    const left = this.#log[this.#next];
    if (left !== undefined) throw partedAt(left, null, []);
  }
}

function failureOf(logged: LoggedValue): Error {
  const { message, transient, retryAfterMs } = logged as Readonly<Record<string, LoggedValue>>;
  return new RequestFailure(typeof message === 'string' ? message : '', {
    transient: transient === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : null,
  });
}
