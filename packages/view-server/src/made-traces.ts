/** Holds, for as long as they are looked at, the traces that are made of journals. */

import { closeSync, existsSync, openSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { writeAllSync } from '@svc/kit/files/transfer-sync.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { traceFromJournal } from './trace-from-journal.ts';
import { type ViewedSession, withReader } from './viewed-session.ts';

/** The owner closes it, which removes them. */
export class MadeTraces {
  #folder: string | null = null;

  /** A trace made from the journal, once, for the caller to close; null without a journal. */
  open(session: ViewedSession): LineFile | null {
    if (!this.has(session)) withReader(session, (reader) => this.#make(session, traceFromJournal(reader)));
    return this.has(session) ? new LineFile(openSync(this.#pathOf(session), 'r')) : null;
  }

  has(session: ViewedSession): boolean {
    return this.#folder !== null && existsSync(this.#pathOf(session));
  }

  close(): void {
    if (this.#folder !== null) removeScratch(this.#folder);
    this.#folder = null;
  }

  #pathOf({ id }: ViewedSession): string {
    return join((this.#folder ??= makeScratch(tmpdir(), 'svc-trace-')), id);
  }

  #make(session: ViewedSession, lines: Iterable<Buffer>): void {
    const path = this.#pathOf(session);
    try {
      const target = openSync(`${path}.part`, 'w', 0o600);
      try {
        for (const line of lines) writeAllSync(target, line);
      } finally {
        closeSync(target);
      }
      renameSync(`${path}.part`, path);
    } catch (error) {
      throw ioFault(error, `cannot write ${path}`);
    }
  }
}
