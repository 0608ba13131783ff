import { describe, expect, it } from 'vitest';

import { refusalSentence } from './spend-meter.ts';

describe('a refused call', () => {
  it('tells what is spent and what it may need', () => {
    expect(refusalSentence({ ceiling: 100, spent: 60, held: 0, estimate: 50 }, 'the next call')).toBe(
      'spend ceiling reached: 60 of 100 session tokens used, the next call may need 50',
    );
  });

  it('tells what is set aside for others, where that is why', () => {
    expect(refusalSentence({ ceiling: 100, spent: 20, held: 40, estimate: 50 }, 'the call')).toBe(
      'spend ceiling reached: 20 of 100 session tokens used, 40 set aside for calls under way, the call may need 50',
    );
  });
});
