/** Puts what a session has written into an answer, and what it goes on to write for as long as it lives. */

import { setTimeout as delay } from 'node:timers/promises';

import type { OpenBody } from '@svc/kit/http/open-body.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { BareJournal } from './bare-journal.ts';
import { WholeLines } from './whole-lines.ts';

/** Pause between two looks at a file. */
const lookMs = 40;
/** Looks at it before the session is looked for again. */
const looksEach = 12;
/** Passed over before others have their turn. */
const passedBytes = 1024 * 1024;

export interface Followed {
  readonly file: LineFile;
  /** Where the answer begins: so many of its bytes, or of its rows, are not put. */
  readonly from: number;
  /** Whether the session may write more. */
  readonly isLive: () => boolean;
}

/** The lines of a trace as they are. Ends once the session does not live, or the reader is gone. */
export async function followTrace({ file, from, isLive }: Followed, body: OpenBody): Promise<void> {
  const lines = new WholeLines(file);
  let at = from;
  await whileLive(isLive, body, async () => {
    for (;;) {
      const end = lines.end();
      for (const piece of lines.pieces(at, end)) {
        if (!(await body.put(piece))) return;
        at += piece.length;
      }
      if (!lines.isBehind || body.gone.aborted) return;
      await yieldToLoop();
    }
  });
}

/** The lines of a journal without the texts, in the same way. */
export async function followJournal({ file, from, isLive }: Followed, body: OpenBody): Promise<void> {
  const journal = new BareJournal(file);
  let left = from;
  await whileLive(isLive, body, async () => {
    let passed = 0;
    for (const lines of journal.next()) {
      const piece = lines.subarray(Math.min(left, lines.length));
      left -= lines.length - piece.length;
      if (piece.length > 0 && !(await body.put(piece))) return;
      passed += lines.length;
      if (passed < passedBytes) continue;
      passed = 0;
      await yieldToLoop();
    }
  });
}

/** Looks once more after the end: what the session wrote last was written before it was gone. */
export async function whileLive(isLive: () => boolean, { gone }: OpenBody, look: () => Promise<void>): Promise<void> {
  let [lives, looks] = [isLive(), 0];
  for (;;) {
    await look();
    if (!lives || gone.aborted) return;
    await delay(lookMs, undefined, { signal: gone }).catch(() => {});
    looks += 1;
    if (looks % looksEach === 0) lives = isLive();
  }
}
