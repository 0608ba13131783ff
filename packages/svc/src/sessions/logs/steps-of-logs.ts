/** Finds in the journal which step of a session wrote which log. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { BodyReading, JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { JournalScan } from '@svc/record/journal/journal-scan.ts';
import { parsed } from '@svc/record/journal/recorded-json.ts';
import type { LogName } from './session-logs.ts';

interface Call {
  readonly step: number;
  readonly name: string;
}

/** The last words of an answer that was too long, as `svc` writes them behind it (docs/manifest.md "Artifacts with an MCP server"). */
const keptIn = /\[\d+ more bytes are not shown; [^\n]*?\blogs\/(mcp-\d+-[^\n/]+\.log)\b[^\n]*\]$/;

/**
 * Commands are counted as they are called, and so are their logs: the third command has those that begin with `3-`. Which answer of a server
 * went into a log stands at the end of that answer, so a journal that keeps no texts does not say it. Each look reads what has been written since the last one.
 */
export class StepsOfLogs {
  readonly #reader: JournalReader | null;
  readonly #scan: JournalScan<'start' | 'end'> | null;
  readonly #commands: Call[] = [];
  readonly #answers = new Map<string, Call>();
  readonly #open = new Map<string, Call>();
  #steps = 0;

  /** `reader` is null without a journal. */
  constructor(reader: JournalReader | null) {
    this.#reader = reader;
    this.#scan = reader?.scan(['start', 'end']) ?? null;
  }

  /** How many steps there are so far. */
  get count(): number {
    return this.#steps;
  }

  /** Returns null where the journal does not say it, or says it of another command. */
  of({ source, name, call, file }: LogName): number | null {
    const found = source === 'command' ? this.#commands[(call ?? 0) - 1] : this.#answers.get(file);
    return found !== undefined && found.name === name ? found.step : null;
  }

  /** Reads on. What stands behind a damaged place is not known. */
  look(): void {
    if (this.#scan === null) return;
    this.#reader?.renew();
    for (const { record } of this.#scan.records()) {
      if (record.k === 'start') {
        this.#steps += 1;
        const call = { step: this.#steps, name: record.name };
        if (record.port === 'shell') this.#commands.push(call);
        if (record.port === 'mcp') this.#open.set(record.e, call);
        continue;
      }
      const call = this.#open.get(record.e);
      this.#open.delete(record.e);
      const file = call === undefined || record.value === null ? null : this.#logIn(record.value);
      if (call !== undefined && file !== null) this.#answers.set(file, call);
    }
  }

  #logIn(sha256: string): string | null {
    const body = this.#body(sha256);
    if (body?.kind !== 'text') return null;
    const { content } = (parsed(body.text) ?? {}) as { readonly content?: unknown };
    if (typeof content !== 'string') return null;
    return keptIn.exec(content.slice(-maxNote))?.[1] ?? null;
  }

  #body(sha256: string): BodyReading | null {
    try {
      return this.#reader?.body(sha256) ?? null;
    } catch (error) {
      // The journal is damaged on the way there.
      if (error instanceof Diagnostic && error.code === 'E-RUN-073') return null;
      throw error;
    }
  }
}

const maxNote = 1024;
