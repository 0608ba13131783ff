/** Keeps the texts that a walk through a journal has passed: records name them soon after, and a journal that is damaged further on has them too. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { BodyReading } from './body-reading.ts';
import type { JournalReader } from './journal-reader.ts';
import type { JournalRecord } from './records.ts';

/** In characters. */
const mostKept = 32 * 1024 * 1024;

/** The texts of a journal, of which the ones passed last are at hand. */
export class PassedTexts {
  readonly #reader: JournalReader;
  readonly #kept = new Map<string, string>();
  #length = 0;

  constructor(reader: JournalReader) {
    this.#reader = reader;
  }

  note({ sha256, data }: JournalRecord<'body'>): void {
    if (data === undefined || this.#kept.has(sha256)) return;
    this.#kept.set(sha256, data);
    this.#length += data.length;
    for (const [oldest, text] of this.#kept) {
      if (this.#length <= mostKept) return;
      this.#kept.delete(oldest);
      this.#length -= text.length;
    }
  }

  /** As `body` of the reader, and damaged where that fails. */
  body(sha256: string): BodyReading {
    const text = this.#kept.get(sha256);
    if (text !== undefined && sha256Hex(text) === sha256) return { kind: 'text', text };
    try {
      return this.#reader.body(sha256);
    } catch (error) {
      if (!(error instanceof Diagnostic) || error.code !== 'E-RUN-073') throw error;
      return { kind: 'damaged', why: 'the journal is damaged where it stands' };
    }
  }
}
