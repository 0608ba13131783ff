import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../test/support/session-fixture.ts';
import type { KeptMessage, TaskRecord } from './task/task-record.ts';
import { TaskRecords } from './task-records.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const message = (text: string, messageId = 'm'): KeptMessage => ({ messageId, from: 'user', parts: [{ text }] });

function submitted(records: TaskRecords, text: string): TaskRecord {
  const source = { text, origin: 'message', trust: 'untrusted' } as const;
  return records.of(records.submit(source, message(text)).task);
}

const texts = ({ messages }: TaskRecord): unknown[] => messages.map(({ parts: [part] }) => part);

/** Calls a tool as often as there are texts, saying each before, then ends. */
function fixtureThatSays(said: readonly string[], options: { readonly artifacts?: number } = {}): SessionFixture {
  const { artifacts = 0 } = options;
  return new SessionFixture({
    acceptance: { afterTask: 'sleep', queueDepth: 3000 },
    maxTurns: 1000,
    tools: [fakeTool('go', async () => passed('ok'))],
    turns: [
      ...said.map((text) => ({
        ...calls(['go', {}]),
        content: [{ type: 'text', text } as const, ...calls(['go', {}]).content],
      })),
      says('done'),
    ].map((turn) => async (_request, call) => {
      const [first] = turn.content;
      if (first?.type === 'text') call.onText(first.text);
      return turn;
    }),
    hooks: {
      takeArtifacts: () =>
        Array.from({ length: artifacts }, () => ({ hookName: 'h', content: 'a'.repeat(1024 * 1024) })),
    },
  });
}

describe('the record of a task', () => {
  it('keeps the newest messages of 64 KiB together', async () => {
    const fixture = fixtureThatSays(Array.from({ length: 10 }, (_, index) => `${index}`.repeat(16 * 1024)));
    const records = new TaskRecords(fixture.session);
    const record = submitted(records, 'Go.');
    void fixture.session.run();
    await record.task.whenEnded;
    expect(texts(record)).toEqual(['7', '8', '9'].map((digit) => ({ text: digit.repeat(16 * 1024) })));
  });

  it('does not keep one that is longer than that, and none gives way to it', async () => {
    const fixture = fixtureThatSays(['short', 'x'.repeat(65 * 1024)]);
    const records = new TaskRecords(fixture.session);
    const record = submitted(records, 'Go.');
    void fixture.session.run();
    await record.task.whenEnded;
    expect(texts(record)).toEqual([{ text: 'Go.' }, { text: 'short' }]);
  });

  it('shares 16 MiB with the others: the oldest messages and artifacts go first', async () => {
    const fixture = fixtureThatSays([], { artifacts: 5 });
    const records = new TaskRecords(fixture.session);
    const first = submitted(records, 'first');
    void fixture.session.run();
    await first.task.whenEnded;
    expect(first.artifacts).toHaveLength(5);
    const waiting = Array.from({ length: 200 }, () => submitted(records, 'x'.repeat(60 * 1024)));
    expect(first.messages).toEqual([]);
    expect(first.artifacts.length).toBeLessThan(5);
    const held = [...records.all()].reduce(
      (sum, record) => sum + JSON.stringify(record.messages).length + JSON.stringify(record.artifacts).length,
      0,
    );
    expect(held).toBeGreaterThan(15 * 1024 * 1024);
    expect(held).toBeLessThan(16.5 * 1024 * 1024);
    expect(waiting.at(-1)?.messages).toHaveLength(1);
  });

  it('raises its version with everything that it would show otherwise', async () => {
    const fixture = fixtureThatSays([], { artifacts: 1 });
    const records = new TaskRecords(fixture.session);
    const record = submitted(records, 'Go.');
    const shown = new Map<number, string>();
    const look = (): void => {
      const text = JSON.stringify([
        record.state,
        record.said,
        record.messages,
        record.artifacts,
        record.response,
        record.changedMs,
      ]);
      expect(shown.get(record.version) ?? text).toBe(text);
      shown.set(record.version, text);
    };
    fixture.activity.subscribe(look);
    void fixture.session.run();
    await record.task.whenEnded;
    look();
    expect(shown.size).toBeGreaterThan(3);
  });

  it('begins where the task stands when nobody asked before', async () => {
    const asks = fakeTool('ask', async (_args, context) =>
      passed(JSON.stringify(await context.requestInput('Which?'))),
    );
    const fixture = new SessionFixture({
      turns: [says('one'), calls(['ask', {}]), hangs],
      tools: [asks],
      acceptance: { afterTask: 'sleep' },
    });
    const source = { text: 'x', origin: 'message', trust: 'untrusted' } as const;
    const { task: over } = fixture.session.board.submit(source);
    const { task: waits } = fixture.session.board.submit(source);
    void fixture.session.run();
    await fixture.frame((frame) => frame.id === 9223372036854775807n);
    const records = new TaskRecords(fixture.session);
    expect(records.of(over)).toMatchObject({ state: 'completed', response: 'one', messages: [] });
    expect(records.of(waits)).toMatchObject({ state: 'input-required', said: { parts: [{ text: 'Which?' }] } });
  });

  it('disappears with its task', async () => {
    const fixture = new SessionFixture({ turns: [], acceptance: { afterTask: 'sleep', queueDepth: 2000 } });
    const records = new TaskRecords(fixture.session);
    const all = Array.from({ length: 1100 }, (_, index) => {
      fixture.clock.advance(1);
      return submitted(records, `${index}`);
    });
    for (const record of all) await fixture.session.board.cancel(record.task);
    expect([...records.all()]).toHaveLength(1000);
    expect(records.find(all[0]?.id ?? '')).toBeNull();
    expect(records.find(all[1099]?.id ?? '')).toBe(all[1099]);
  });

  it('holds nothing of a task that is gone', async () => {
    const result = 'x'.repeat(1024 * 1024);
    const fixture = new SessionFixture({
      turns: Array.from({ length: 60 }, () => says(result)),
      acceptance: { afterTask: 'sleep', queueDepth: 100 },
    });
    const records = new TaskRecords(fixture.session);
    const all = Array.from({ length: 60 }, (_, index) => new WeakRef(submitted(records, `${index}`)));
    const last = all.at(-1)?.deref()?.task;
    void fixture.session.run();
    await last?.whenEnded;
    await turnOfTheEventLoop();
    collectGarbage();
    const held = all.filter((record) => record.deref() !== undefined).length;
    expect([held, [...records.all()].length]).toEqual([15, 15]);
  });

  it('lets an artifact without a text go, too', async () => {
    const fixture = new SessionFixture({
      turns: Array.from({ length: 3 }, () => says('done')),
      acceptance: { afterTask: 'sleep', queueDepth: 10 },
      hooks: { takeArtifacts: () => Array.from({ length: 30_000 }, () => ({ hookName: 'h', content: '' })) },
    });
    const records = new TaskRecords(fixture.session);
    const all = Array.from({ length: 3 }, (_, index) => submitted(records, `${index}`));
    void fixture.session.run();
    await all[2]?.task.whenEnded;
    // 256 bytes each.
    expect(all.reduce((sum, { artifacts, messages }) => sum + artifacts.length + messages.length, 0)).toBe(65_536);
  });
});
