/** A trace file of anybody, shown as a session of its own. */

import { closeSync, constants, fstatSync, openSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { runYielding } from '@svc/kit/yield-to-loop.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { readFactsOfTrace, type SessionFacts } from '@svc/record/sessions/session-facts.ts';
import type { OpenReader, ViewedSession } from './viewed-session.ts';

/** The address of a trace that names no session. */
const namelessId = 'ses_00000000000000000000000000000000';
const maxFirstLine = 4096;

/** It runs nowhere, whatever it claims of itself: the server believes only its lines, and reads nothing beside it. */
export class TraceFileSession implements ViewedSession {
  readonly id: string;
  readonly #path: string;

  /** `E-IO-001` for what is no regular file, or cannot be read. */
  constructor(path: string) {
    this.#path = path;
    const file = this.openTrace();
    try {
      const [, id = ''] =
        /"session_id"\s*:\s*"([^"]{1,100})"/.exec(file.readAt(0, maxFirstLine).toString('latin1')) ?? [];
      this.id = isSessionId(id) ? id : namelessId;
    } finally {
      file.close();
    }
  }

  isLive(): boolean {
    return false;
  }

  record(): RunningRecord | null {
    return null;
  }

  async row(): Promise<SessionFacts> {
    const file = this.openTrace();
    try {
      return await runYielding(readFactsOfTrace(this.id, file));
    } finally {
      file.close();
    }
  }

  openTrace(): LineFile {
    const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;
    let fd: number;
    try {
      // A pipe at this place would hold the command for ever.
      fd = openSync(this.#path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    } catch (error) {
      throw ioFault(error, `cannot open ${this.#path}`);
    }
    if (fstatSync(fd).isFile()) return new LineFile(fd);
    closeSync(fd);
    throw new Diagnostic('E-IO-001', `cannot open ${this.#path}: it is not a regular file`);
  }

  openJournal(): LineFile | null {
    return null;
  }

  openReader(): OpenReader | null {
    return null;
  }

  workdir(): string | null {
    return null;
  }

  notes(): readonly string[] {
    return [];
  }
}
