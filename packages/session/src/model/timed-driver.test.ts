import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { FakeDriver, hangs, says, type Turn } from '../../../../test/support/fake-driver.ts';
import type { DriverOutcome, InferenceCall } from './driver.ts';
import { timedDriver } from './timed-driver.ts';

const request = { model: 'm', system: '', messages: [], tools: [], maxTokens: 10 };
const silent = 'E-RUN-064: the model was silent for 30 s: inference.timeout_secs.idle';
const long = 'E-RUN-064: the model did not end its response within 100 s: inference.timeout_secs.total';

class Setting {
  readonly clock = new FakeClock();
  readonly #cancel = new AbortController();
  /** What the driver is called with. */
  call: InferenceCall | null = null;
  readonly outcome: Promise<DriverOutcome>;
  readonly texts: string[] = [];

  constructor(turn: Turn = hangs, callTool: InferenceCall['callTool'] = async () => never()) {
    const driver = new FakeDriver([
      async (asked, call) => {
        this.call = call;
        return typeof turn === 'function' ? await turn(asked, call) : turn;
      },
    ]);
    const task = timedDriver(driver, { idleMs: 30_000, totalMs: 100_000 }, this.clock).openTask();
    this.outcome = task.infer(request, {
      place: 'tsk_1/1/m1',
      signal: this.#cancel.signal,
      onText: (text) => this.texts.push(text),
      onThinking: (text) => this.texts.push(`(${text})`),
      callTool,
    });
  }

  cancel(): void {
    this.#cancel.abort(new Error('canceled'));
  }
}

function never(): never {
  throw new Error('no call is made');
}

describe('a model', () => {
  it('fails its call once it was silent for the idle limit', async () => {
    const setting = new Setting();
    setting.clock.advance(29_999);
    expect(setting.call?.signal.aborted).toBe(false);
    setting.clock.advance(1);
    expect(await setting.outcome).toEqual({ kind: 'failed', error: silent, code: 'E-RUN-064' });
  });

  it.each<[string, (call: InferenceCall) => void]>([
    ['text', (call) => call.onText('a')],
    ['thinking', (call) => call.onThinking('a')],
    ['a sign of life', (call) => call.onSign?.()],
  ])('has until the total limit while it gives %s', async (_, give) => {
    const setting = new Setting();
    for (let at = 0; at < 4; at += 1) {
      setting.clock.advance(24_000);
      give(setting.call ?? never());
    }
    setting.clock.advance(3999);
    expect(setting.call?.signal.aborted).toBe(false);
    setting.clock.advance(1);
    expect(await setting.outcome).toEqual({ kind: 'failed', error: long, code: 'E-RUN-064' });
  });

  it('loses nothing when it answers in time, and no limit passes afterwards', async () => {
    const setting = new Setting(says('Done.'));
    expect(await setting.outcome).toMatchObject({ kind: 'response' });
    setting.clock.advance(200_000);
    expect(setting.call?.signal.aborted).toBe(false);
  });

  it('has no limit while it waits for a tool', async () => {
    let answer = (): void => {};
    const setting = new Setting(
      async (_, call) => {
        const { content } = await call.callTool({ type: 'tool_call', id: 'c', name: 'slow', input: {} });
        return await hangs(request, { ...call, onText: () => content });
      },
      async () => {
        await new Promise<void>((resolve) => (answer = resolve));
        return { content: 'ok', isError: false };
      },
    );
    setting.clock.advance(20_000);
    setting.clock.advance(500_000);
    expect(setting.call?.signal.aborted).toBe(false);
    answer();
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
    setting.clock.advance(29_999);
    expect(setting.call?.signal.aborted).toBe(false);
    setting.clock.advance(1);
    expect(await setting.outcome).toEqual({ kind: 'failed', error: silent, code: 'E-RUN-064' });
  });

  it('stops at a cancel as before', async () => {
    const setting = new Setting();
    setting.cancel();
    expect(await setting.outcome).toEqual({ kind: 'failed', error: 'aborted' });
  });
});
