import { describe, expect, it } from 'vitest';

import type { InferenceRequest } from './driver.ts';
import { addedTokens, refusalSentence, SpendMeter } from './spend-meter.ts';

describe('a refused call', () => {
  it('reports what is spent and what it may need', () => {
    expect(refusalSentence({ ceiling: 100, spent: 60, held: 0, estimate: 50 }, 'the next call')).toBe(
      'spend ceiling reached: 60 of 100 session tokens used, the next call may need 50',
    );
  });

  it('reports what is set aside for others, where that is why', () => {
    expect(refusalSentence({ ceiling: 100, spent: 20, held: 40, estimate: 50 }, 'the call')).toBe(
      'spend ceiling reached: 20 of 100 session tokens used, 40 set aside for calls under way, the call may need 50',
    );
  });
});

describe('the tokens of a session', () => {
  it('add up to at most the number that a record of them can hold', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const request: InferenceRequest = { model: 'm', system: '', messages: [], tools: [], maxTokens: 100 };
    const response = { content: [], stopReason: 'end_turn', usage: { inputTokens: most, outputTokens: most } };
    const meter = new SpendMeter(1_000);
    meter.record(request, response);
    meter.record(request, response);
    expect(meter.used).toEqual({ inputTokens: most, outputTokens: most });
    expect(meter.check(request)).toMatchObject({ ceiling: 1_000, spent: most });
    expect(addedTokens(most, 1, most)).toBe(9_007_199_254_740_991);
    expect(addedTokens(1, 2, 3)).toBe(6);
  });
});
