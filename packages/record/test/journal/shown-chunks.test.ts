import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { openJournal } from '../../src/journal/journal-writer.ts';
import { type HistoryEvent, LiveRecorder } from '@svc/session/recorder/recorder.ts';
import type { Chunk, ChunkKind } from '@svc/session/recorder/shown-chunks.ts';
import { JournalLines } from '@svc/session/replay/journal-lines.ts';
import { knows, mebibyte, roomy, sessionId } from './recorded-session.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-shown-chunks-', (made) => {
  folder = made;
});

/** What is recorded of an effect that shows these, asking for input where there is a null. */
async function recorded(shown: Iterable<Chunk | null>): Promise<readonly (readonly Chunk[])[]> {
  const historyEvents: HistoryEvent[] = [];
  const recorder = new LiveRecorder((historyEvent) => void historyEvents.push(historyEvent), new FakeClock());
  const effect = { place: 'p', port: 'tool', name: 'it', input: {}, signal: new AbortController().signal } as const;
  const inside = { chunk: () => {}, ask: async () => 'an answer', note: () => true };
  await recorder.effect(effect, inside, async ({ chunk, ask }) => {
    for (const each of shown) {
      if (each === null) await ask('input', 'Which?');
      else chunk(...each);
    }
    return 'done';
  });
  return historyEvents.flatMap((historyEvent) => ('chunks' in historyEvent ? [historyEvent.chunks] : []));
}

function sums(chunks: readonly Chunk[]): Partial<Record<ChunkKind, number>> {
  const sum: Partial<Record<ChunkKind, number>> = {};
  for (const [kind, text] of chunks) sum[kind] = (sum[kind] ?? 0) + text.length;
  return sum;
}

describe('the record of what an effect shows', () => {
  it('has 16 Mi characters of it at most, and says once for each kind that there was more', async () => {
    const long = 'x'.repeat(mebibyte);
    const shown: Chunk[] = [['thinking', 'Hm.'], ...Array.from({ length: 40 }, (): Chunk => ['text', long])];
    const [chunks = []] = await recorded([...shown, ['thinking', 'So.'], ['thinking', 'So.'], ['text', 'more']]);
    expect(chunks.slice(0, 2)).toEqual([shown[0], ['text', long]]);
    expect(chunks.slice(-2).map(([kind, text]) => [kind, text.slice(-3)])).toEqual([
      ['text', 'xx…'],
      ['thinking', '…'],
    ]);
    // Each of the 17 chunks that fit counts 32 more than it has.
    expect(sums(chunks)).toEqual({ thinking: 4, text: 16 * mebibyte - 3 - 17 * 32 + 33 });
  });

  it('has half a million pieces at most, however short they are', async () => {
    const [chunks = []] = await recorded(Array.from({ length: 600_000 }, (): Chunk => ['text', 'x']));
    expect(chunks.length).toBe(508_401);
    expect(chunks.at(-1)?.[1].endsWith('…')).toBe(true);
  });

  it('stays within that over all questions that it asks', async () => {
    const long: Chunk = ['text', 'x'.repeat(10 * mebibyte)];
    const recording = await recorded([long, null, long, null, long]);
    expect(recording.map((chunks) => chunks.length)).toEqual([1, 1, 0]);
  });

  it('keeps the reasons to ask again that the trace has', async () => {
    const reasons = Array.from({ length: 20 }, (_, index): Chunk => ['retry', `reason ${index}`]);
    const [chunks = []] = await recorded([['text', 'x'.repeat(17 * mebibyte)], ...reasons]);
    expect(chunks.slice(1)).toEqual([...reasons.slice(0, 16), ['retry', '…']]);
  });

  it('has no part of a secret that is cut off there', async () => {
    const filler: Chunk = ['text', 'x'.repeat(16 * mebibyte - 32 - 32 - 32 - 7)];
    const [chunks = []] = await recorded([filler, ['text', 'pass-wo'], ['text', 'rd-of-all'], ['text', '!']]);
    const redactor: Redactor = await knows('pass-word-of-all');
    const redact = (text: string): string => redactor.redact(text);
    const clock = new FakeClock();
    const limits = { ...roomy, maxBody: 32 * mebibyte };
    const options = { directory: folder, session: sessionId(), capture: 'content', redact, limits } as const;
    const journal = openJournal({ ...options, clock, onFull: () => {} });
    const end = { kind: 'end', place: 'p', value: 'done', lost: false, chunks, durationMs: 1 } as const;
    runSync(new JournalLines(journal, redact).write(end, 1));
    journal.close();
    const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').trim().split('\n');
    const sha256 = (JSON.parse(lines.at(-1) ?? '') as { chunks: string }).chunks;
    expect(readFileSync(join(folder, 'bodies', sha256), 'utf8').slice(-20)).toBe('xxxxxxxx[secret]…"]]');
  });
});
