import { realTimer } from '../../../../test/support/quiet-calls.ts';
import { describe, expect, it } from 'vitest';

import { FakeDriver, calls, hangs, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { SpendMeter } from '../model/spend-meter.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { Complete, CompletionAsker } from './hook.ts';
import { hookCompletion } from './hook-completion.ts';

interface Fixture {
  readonly complete: Complete;
  readonly driver: FakeDriver;
  readonly traced: TraceEvent[];
}

function fixture(turns: readonly Turn[], { ceiling = null as number | null, limitMs = 20_000 } = {}): Fixture {
  const driver = new FakeDriver(turns);
  const traced: TraceEvent[] = [];
  const complete = hookCompletion({
    driver,
    model: 'm',
    maxTokens: 100,
    spend: new SpendMeter(ceiling),
    clock: { monotonicMs: () => 0, now: () => 1000 },
    timer: realTimer,
    record: (event) => void traced.push(event),
    limitMs,
  });
  return { complete, driver, traced };
}

const asker: CompletionAsker = { hookName: 'a', taskId: 'tsk_1', signal: new AbortController().signal };
const asked = { system: 'Sum up.', prompt: 'Well?', maxTokens: null };

describe('a completion for a hook', () => {
  it('makes one request without tools, and the trace names the hook', async () => {
    const { complete, driver, traced } = fixture([says('Yes.')]);
    expect(await complete(asked, asker)).toBe('Yes.');
    expect(driver.requests).toEqual([
      {
        model: 'm',
        system: 'Sum up.',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Well?' }] }],
        tools: [],
        maxTokens: 100,
      },
    ]);
    expect(traced).toEqual([
      {
        event_type: 'inference',
        task_id: 'tsk_1',
        turn: 0,
        hook_name: 'a',
        model: 'm',
        outcome: 'response',
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
        start_ms: 1000,
        duration_ms: 0,
      },
    ]);
  });

  it.each([
    [40, 40],
    [4_000, 100],
    [0, 1],
  ])('asks for %i tokens and gets at most %i', async (maxTokens, given) => {
    const { complete, driver } = fixture([says('Yes.')]);
    await complete({ ...asked, maxTokens }, asker);
    expect(driver.requests[0]?.maxTokens).toBe(given);
  });

  it.each<[string, Turn, string]>([
    ['the driver failed', { kind: 'failed', error: 'no route' }, 'no route'],
    ['the driver cannot be called', { kind: 'unavailable', error: 'not there' }, 'not there'],
    ['the model called a tool', calls(['read', {}]), 'the model called a tool, and a completion has none'],
    ['the provider refused', { content: [], stopReason: 'error', error: 'overloaded' }, 'overloaded'],
  ])('fails where %s', async (_, turn, error) => {
    const { complete, traced } = fixture([turn]);
    await expect(complete(asked, asker)).rejects.toThrow(error);
    expect(traced).toHaveLength(1);
  });

  it('fails at the ceiling of the session, and counts towards it', async () => {
    const { complete, driver } = fixture([says('Yes.')], { ceiling: 140 });
    await complete(asked, asker);
    await expect(complete(asked, asker)).rejects.toThrow(
      /^spend ceiling reached: 15 of 140 session tokens used, the call may need \d+$/,
    );
    expect(driver.requests).toHaveLength(1);
  });

  it('leaves what another call may come to alone', async () => {
    const { complete, driver } = fixture([hangs], { ceiling: 200 });
    const cancel = new AbortController();
    const first = complete(asked, { ...asker, signal: cancel.signal });
    await expect(complete(asked, asker)).rejects.toThrow('spend ceiling reached: 0 of 200');
    cancel.abort();
    await expect(first).rejects.toThrow('the completion was canceled');
    expect(driver.requests).toHaveLength(1);
  });

  it('ends with the call of its hook, and leaves no line then', async () => {
    const { complete, traced } = fixture([hangs]);
    const cancel = new AbortController();
    const completion = complete(asked, { ...asker, signal: cancel.signal });
    cancel.abort();
    await expect(completion).rejects.toThrow('the completion was canceled');
    expect(traced).toEqual([]);
  });

  it('ends when its time is over', async () => {
    const { complete, traced } = fixture([hangs], { limitMs: 10 });
    await expect(complete(asked, asker)).rejects.toThrow('the model did not answer within 0.01 s');
    expect(traced).toMatchObject([{ outcome: 'failed' }]);
  });
});
