import { describe, expect, it } from 'vitest';

import { mintedMs } from '@svc/protocol/ids.ts';
import { delegationTraceparent, isKept, keepAll, taskTrace } from './task-trace.ts';

const task = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6071';
const caller = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('the place of a task among spans', () => {
  it('depends on its id alone', () => {
    expect(taskTrace(task, undefined, keepAll)).toEqual({
      traceId: '019a0c8e7b2c7d3f8a1b2c3d4e5f6071',
      spanId: '8a1b2c3d4e5f6071',
      parentSpanId: null,
      isSampled: true,
    });
  });

  it('lies below the span that its sender names', () => {
    expect(taskTrace(task, caller, keepAll)).toEqual({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '8a1b2c3d4e5f6071',
      parentSpanId: '00f067aa0ba902b7',
      isSampled: true,
    });
  });

  it.each([
    ['of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['of another version', caller.replace('00-', '01-')],
    ['in upper case', caller.toUpperCase()],
    ['with more behind it', `${caller}-x`],
    ['of nothing', ''],
  ])('depends on its id where the span is %s', (_what, traceparent) => {
    expect(taskTrace(task, traceparent, keepAll).parentSpanId).toBeNull();
  });

  it('gives a child the span that its task hangs on', () => {
    const delegation = 'dlg_019a0c8e7b2c7d3f9b1b2c3d4e5f6072';
    expect(delegationTraceparent(taskTrace(task, caller, keepAll), delegation)).toBe(
      '00-4bf92f3577b34da6a3ce929d0e0e4736-9b1b2c3d4e5f6072-01',
    );
    expect(mintedMs(delegation)).toBe(0x019a0c8e7b2c);
  });
});

describe('a sampler', () => {
  it.each([
    ['keeps what the caller keeps', '01', 0, true, true],
    ['drops what the caller drops', '00', 1, true, false],
    ['does as it would, where it does not follow callers', '00', 1, false, true],
  ])('%s', (_what, flags, ratio, followsParent, isSampled) => {
    const traceparent = `${caller.slice(0, -2)}${flags}`;
    expect(taskTrace(task, traceparent, { ratio, followsParent }).isSampled).toBe(isSampled);
  });

  it.each([
    ['ffffffffffffffffff00000000000000', 0.5, false],
    ['0000000000000000007fffffffffffff', 0.5, false],
    ['00000000000000000080000000000000', 0.5, true],
    ['000000000000000000ffffffffffffff', 0, false],
    ['00000000000000000000000000000000', 1, true],
  ])('decides on %s, keeping %d, by its last 56 bits', (traceId, ratio, kept) => {
    expect(isKept(traceId, { ratio, followsParent: true })).toBe(kept);
  });
});
