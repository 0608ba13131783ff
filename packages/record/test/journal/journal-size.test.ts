import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { runSync } from '@svc/kit/yield-to-loop.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { Message } from '@svc/session/model/driver.ts';
import { openJournal } from '../../src/journal/journal-writer.ts';
import type { HistoryEvent } from '@svc/session/recorder/recorder.ts';
import { JournalLines } from '@svc/session/replay/journal-lines.ts';
import { roomy, sessionId, taskId } from './recorded-session.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const kibibyte = 1024;
const turns = 200;
const tools = [{ name: 'sh', description: 'Runs a command.', inputSchema: { type: 'object' } }] as const;
const system = 'You are helpful.'.repeat(200);

let folder = '';

eachFolder('svc-journal-size-', (made) => {
  folder = made;
});

interface Sizes {
  readonly journal: number;
  /** The size of the texts that it was given, each counted once. */
  readonly texts: number;
}

/** A task of 200 turns, each with a call whose result has `resultBytes`, and all messages so far in each question. */
function sizesOf(resultBytes: number): Sizes {
  const clock = new FakeClock();
  const redact = (text: string): string => text;
  const options = { directory: folder, session: sessionId(), capture: 'content', redact, limits: roomy } as const;
  const journal = openJournal({ ...options, clock, onFull: () => {} });
  const lines = new JournalLines(journal, redact);
  const write = (historyEvent: HistoryEvent): void => runSync(lines.write(historyEvent, clock.now()));
  const texts = new Map<string, number>();
  const given = <Value>(value: Value): Value => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    texts.set(createHash('sha256').update(text).digest('hex'), Buffer.byteLength(text));
    return value;
  };
  given(system);
  given(tools);
  const messages: Message[] = [given({ role: 'user', content: [{ type: 'text', text: 'Look at all of it.' }] })];
  const base = { lost: false, durationMs: 20, kind: 'end' } as const;
  for (let turn = 1; turn <= turns; turn += 1) {
    const place = `${taskId('1')}/1/m${turn}`;
    const request = { model: 'some-model', system, messages: [...messages], tools, maxTokens: 1000 };
    write({ kind: 'start', place, port: 'model', name: 'some-model', input: request });
    const call = { type: 'tool_call', id: `call_${turn}`, name: 'sh', input: { command: `cat part-${turn}` } } as const;
    const response = { content: [{ type: 'text', text: `I look at part ${turn}.` } as const, call] };
    const answer = { kind: 'response', response: { ...response, stopReason: 'tool_call' } };
    write({ ...base, place, value: given(answer), chunks: [] });
    messages.push(given({ role: 'assistant', ...response }));
    write({ kind: 'start', place: `${place}/t1`, port: 'shell', name: 'sh', input: given(call.input) });
    const text = `${turn} one line of what there is\n`.repeat(Math.ceil(resultBytes / 28)).slice(0, resultBytes);
    write({
      ...base,
      place: `${place}/t1`,
      value: given({ status: 'passed', content: text, exitCode: 0 }),
      chunks: [],
    });
    messages.push(given({ role: 'tool', toolCallId: call.id, isError: false, content: [{ type: 'text', text }] }));
  }
  journal.close();
  const sum = [...texts.values()].reduce((all, bytes) => all + bytes, 0);
  return { journal: readFileSync(join(folder, 'journal.jsonl')).length, texts: sum };
}

it('a journal holds a session of 200 turns in a fifth more than its texts, each counted once, where results have 8 KiB', () => {
  const { journal, texts } = sizesOf(8 * kibibyte);
  expect(texts).toBeGreaterThan(turns * 16 * kibibyte);
  expect(journal / texts).toBeLessThan(1.2);
});

it('a journal adds two and a half kilobytes a turn to its texts, however many turns were before', () => {
  const { journal, texts } = sizesOf(100);
  expect((journal - texts) / turns).toBeLessThan(2.5 * kibibyte);
});
