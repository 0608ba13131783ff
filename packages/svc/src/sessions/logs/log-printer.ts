/** Prints logs of a session piece by piece, as fast as they are read. */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import { LineFile, openOwn } from '@svc/record/journal/line-file.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { type Page, pageOf } from '@svc/terminal/screen/page.ts';
import { jsonLine, say, Shown } from '@svc/terminal/screen/shown.ts';
import { openLogs, type SessionLog } from './session-logs.ts';

const pieceBytes = 64 * 1024;
/** How often a log is looked at for more. */
const lookMs = 200;

interface PrinterSettings {
  readonly isJson: boolean;
  /** In a pipe, a log that is the only one has no head before it: a file gets what was written. */
  readonly isAlone: boolean;
  /** More may be written to a log that has been printed. */
  readonly follows: boolean;
}

/** How far a log has been printed. */
interface Place {
  offset: number;
  /** The bytes of a character whose end is still to come. */
  readonly decoder: InstanceType<typeof TextDecoder>;
}

/** A piece of a log as `svc logs --json` writes it. */
export type LogPiece = Pick<SessionLog, 'step' | 'source' | 'name' | 'output' | 'file'> & {
  /** The byte of the log at which the piece was read. */
  readonly offset: number;
  readonly text: string;
};

/** Prints each log from where it stopped. No more than a piece is held. The caller closes it. */
export class LogPrinter {
  readonly #session: HeldDirectory;
  readonly #stdout: Output;
  readonly #settings: PrinterSettings;
  readonly #places = new Map<string, Place>();
  readonly #unread = new AbortController();
  readonly #onError = (): void => this.#unread.abort();
  #page: Page;
  /** The log whose piece was printed last. */
  #current: string | null = null;

  constructor(session: HeldDirectory, stdout: Output, settings: PrinterSettings) {
    this.#session = session;
    this.#stdout = stdout;
    this.#settings = settings;
    this.#page = pageOf(stdout);
    stdout.stream.on('error', this.#onError);
  }

  /** Whether the reader went away. */
  get isUnread(): boolean {
    return this.#unread.signal.aborted;
  }

  /** What there is of these logs beyond what was printed. */
  async print(logs: readonly SessionLog[]): Promise<void> {
    const folder = openLogs(this.#session);
    if (folder === null) return;
    try {
      for (const log of logs) if (!this.isUnread) await this.#printLog(folder, log);
    } finally {
      folder.close();
    }
  }

  async pause(): Promise<void> {
    try {
      await delay(lookMs, undefined, { signal: this.#unread.signal });
    } catch (error) {
      if (!this.isUnread) throw error;
    }
  }

  /** The end of the last row. */
  async end(): Promise<void> {
    if (!this.#settings.isJson) await this.#write(Shown.cleaned(this.#page.endQuote(), 'laid out'));
  }

  close(): void {
    this.#stdout.stream.off('error', this.#onError);
  }

  async #printLog(folder: HeldDirectory, log: SessionLog): Promise<void> {
    const place = this.#places.get(log.file) ?? { offset: 0, decoder: new TextDecoder('utf-8', { ignoreBOM: true }) };
    if (log.bytes <= place.offset) return;
    const fd = openOwn(folder, log.file, thisUser());
    if (fd === null) return;
    this.#places.set(log.file, place);
    const file = new LineFile(fd);
    try {
      await this.#head(log);
      // Reads only up to the size that it had: a writer does not keep the others from their turn.
      while (place.offset < log.bytes && !this.isUnread) {
        const bytes = file.readAt(place.offset, Math.min(pieceBytes, log.bytes - place.offset));
        if (bytes.length === 0) return;
        const offset = place.offset;
        place.offset += bytes.length;
        await this.#piece(log, offset, place.decoder.decode(bytes, { stream: true }));
      }
      if (!this.#settings.follows) await this.#piece(log, place.offset, place.decoder.decode());
    } finally {
      file.close();
    }
  }

  async #head(log: SessionLog): Promise<void> {
    const { isJson, isAlone } = this.#settings;
    if (isJson || this.#current === log.file) return;
    const ended = this.#page.endQuote();
    this.#page = pageOf(this.#stdout);
    this.#current = log.file;
    const isNeeded = !isAlone || this.#stdout.isTerminal;
    await this.#write(Shown.cleaned(ended + (isNeeded ? this.#page.own(headOf(log)) : ''), 'laid out'));
  }

  async #piece({ step, source, name, output, file }: SessionLog, offset: number, text: string): Promise<void> {
    if (text === '') return;
    const shown = this.#settings.isJson
      ? jsonLine({ step, source, name, output, file, offset, text } satisfies LogPiece)
      : Shown.cleaned(this.#page.quote(text), 'laid out');
    await this.#write(shown);
  }

  async #write(shown: Shown): Promise<void> {
    if (this.#stdout.write(shown)) return;
    try {
      await once(this.#stdout.stream, 'drain', { signal: this.#unread.signal });
    } catch (error) {
      if (!this.isUnread) throw error;
    }
  }
}

/** `== #3 sh, standard output, 64.0 KB ==` */
function headOf(log: SessionLog): Shown {
  const { step, source, call, output, bytes } = log;
  const number = step !== null ? `#${step} ` : source === 'command' ? `command ${call} ` : '';
  const what = { stdout: 'standard output', stderr: 'standard error', answer: 'answer', output: 'output' } as const;
  const kind = output === 'decisions' ? '' : `, ${what[output]}`;
  return say`== ${number}${writerOf(log)}${kind}, ${shownBytes(bytes)} ==\n`;
}

function writerOf({ source, name, output }: SessionLog): string {
  switch (source) {
    case 'egress':
      return 'connections';
    case 'driver':
      return 'driver';
    case 'hook':
    case 'tool':
      return `${source} ${name ?? ''}`;
    case 'mcp':
      return output === 'stderr' ? `server ${name ?? ''}` : (name ?? '');
    case 'command':
      return name ?? '';
  }
}
