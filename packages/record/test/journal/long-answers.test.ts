import { describe, expect, it } from 'vitest';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { calls, says } from '../../../../test/support/fake-driver.ts';
import { SessionFixture } from '../../../../test/support/session-fixture.ts';
import type { InferenceResponse } from '@svc/session/model/driver.ts';
import { JournalReader } from '../../src/journal/journal-reader.ts';
import { openJournal } from '../../src/journal/journal-writer.ts';
import { type HistoryEvent, LiveRecorder } from '@svc/session/recorder/recorder.ts';
import { JournalLines } from '@svc/session/replay/journal-lines.ts';
import { readRecording } from '@svc/session/replay/recorded-history.ts';
import { mebibyte, roomy, sessionId } from './recorded-session.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-long-answers-', (made) => {
  folder = made;
});

interface Recorded {
  readonly results: readonly string[];
  readonly traced: string;
  /** How many answers hooks got. */
  readonly told: number;
  readonly historyEvents: readonly HistoryEvent[];
}

/** A session whose model gives one answer, and what is read back of its journal. */
async function recorded(answer: InferenceResponse): Promise<Recorded> {
  const redact = (text: string): string => text;
  const session = sessionId();
  const about = { svc: '0.4.0', node: '20.20.2', trusted: true, capsule: { name: 'demo', version: '1.0.0' } } as const;
  const clock = { now: () => 1 };
  const journal = openJournal({
    directory: folder,
    session,
    capture: 'content',
    redact,
    limits: roomy,
    clock,
    onFull: () => {},
  });
  journal.append({ k: 'open', version: 1, session, epoch: 1, capture: 'content', ...about });
  const lines = new JournalLines(journal, redact);
  let told = 0;
  const fixture = new SessionFixture({
    turns: [answer],
    hooks: { inferred: async () => void (told += 1) },
    recorder: (time) => new LiveRecorder((historyEvent) => runSync(lines.write(historyEvent, 1)), time),
  });
  fixture.session.board.submit({ text: 'Go.', origin: 'user', trust: 'trusted' });
  await fixture.session.run();
  journal.close();
  return { results: fixture.results, traced: JSON.stringify(fixture.traced), told, historyEvents: readBack() };
}

function readBack(): readonly HistoryEvent[] {
  const held = HeldDirectory.open(folder);
  const reader = JournalReader.open(held, null);
  try {
    if (reader === null) throw new Error('there is no journal');
    const { historyEvents, damage, missing } = readRecording(reader);
    expect({ damage, missing }).toEqual({ damage: null, missing: null });
    return historyEvents;
  } finally {
    reader?.close();
    held.close();
  }
}

const nameTooLong = 'the driver gave a tool call with a name of more than 4096 characters';

describe('an answer of the model that is longer than any that is meant', () => {
  it.each([
    ['a call whose name fills a line', calls(['n'.repeat(17 * mebibyte), {}]), nameTooLong],
    [
      'such a call that an answer has which ends its task',
      { ...calls(['n'.repeat(17 * mebibyte), {}]), stopReason: 'end_turn' },
      nameTooLong,
    ],
    [
      '1,025 calls',
      calls(...Array.from({ length: 1_025 }, (): [string, unknown] => ['n', {}])),
      'the driver gave more than 1024 tool calls at once',
    ],
    [
      'a continuation id of megabytes',
      { ...says('Done.'), continuationId: 'c'.repeat(mebibyte) },
      'the driver gave a continuation id of more than 65536 characters',
    ],
    [
      'a stop reason of megabytes',
      { ...says('Done.'), stopReason: 's'.repeat(mebibyte) },
      `the driver gave an unknown stop reason: "${'s'.repeat(100)}…"`,
    ],
  ])('fails its task before journal, trace and hooks have it: %s', async (_, answer, error) => {
    const usage = { inputTokens: 100_000, outputTokens: 50_000 };
    const { historyEvents, results, told, traced } = await recorded({ ...answer, usage });
    expect(results).toEqual([`error: ${error}`]);
    const end = historyEvents.find(({ kind }) => kind === 'end');
    // What it has cost counts towards inference.max_session_tokens all the same.
    expect(end).toMatchObject({ value: { response: { content: [], stopReason: 'error', error, usage } } });
    expect(told).toBe(1);
    expect(traced.length).toBeLessThan(16 * 1024);
    expect(traced).toContain('"input_tokens":100000');
  });

  it('goes into a journal that can be read where names and counts are as long as may be', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const names = Array.from({ length: 20 }, (): [string, unknown] => ['\0'.repeat(4_096), {}]);
    const usage = { inputTokens: most, outputTokens: most };
    const { historyEvents, told } = await recorded({ ...calls(...names), stopReason: 'end_turn', usage });
    expect(told).toBe(1);
    expect(historyEvents.find(({ kind }) => kind === 'end')).toMatchObject({ value: { response: { usage } } });
  });
});
