import { describe, expect, it } from 'vitest';

import { redactedOutcome } from './driver.ts';

const redact = (text: string): string => text.replaceAll('key', '***');

describe('the failure of a driver', () => {
  it('hides the key', () => {
    expect(redactedOutcome({ kind: 'failed', error: 'no such key' }, redact)).toEqual({
      kind: 'failed',
      error: 'no such ***',
    });
  });

  it('keeps a bounded length when it has megabytes, whichever part failed', () => {
    const error = 'e'.repeat(30_000_000);
    const shown = `${'e'.repeat(16_384)}…`;
    expect(redactedOutcome({ kind: 'failed', error }, redact)).toEqual({ kind: 'failed', error: shown });
    const response = { content: [], stopReason: 'error', error };
    expect(redactedOutcome({ kind: 'response', response }, redact)).toMatchObject({ response: { error: shown } });
  });
});
