import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  isSessionId,
  mintContextId,
  mintDelegationId,
  mintSessionId,
  mintTaskId,
  mintTraceEventId,
  mintWorkId,
} from './ids.ts';

const source = {
  now: () => 0x0190a1b2c3d4,
  randomBytes: (size: number) => Uint8Array.from({ length: size }, (_, index) => index * 16),
};

describe('identifiers', () => {
  it('gives a session 32 lowercase hex characters', () => {
    expect(mintSessionId(source)).toBe('ses_00102030405060708090a0b0c0d0e0f0');
    expect(isSessionId('ses_00102030405060708090a0b0c0d0e0f0')).toBe(true);
    expect(isSessionId('ses_00102030405060708090A0B0C0D0E0F0')).toBe(false);
    expect(isSessionId('ses_0010')).toBe(false);
  });

  it('gives a task a UUIDv7 in hex, its time in front', () => {
    expect(mintTaskId(source)).toBe('tsk_0190a1b2c3d47010a030405060708090');
    expect(mintTaskId({ ...source, randomBytes: (size) => new Uint8Array(size).fill(0xff) })).toBe(
      'tsk_0190a1b2c3d47fffbfffffffffffffff',
    );
  });

  it('keeps the shape and the order of time at every moment, fractions of a millisecond passed over', () => {
    const moment = fc.double({ min: 0, max: 2 ** 48 - 1, noNaN: true });
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(moment, moment, bytes, bytes, (one, other, chance, otherChance) => {
        const at = (ms: number, random: Uint8Array): string =>
          mintTaskId({ now: () => ms, randomBytes: (size) => random.subarray(0, size) });
        const [first, second] = [at(one, chance), at(other, otherChance)];
        expect(first).toMatch(/^tsk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
        if (Math.trunc(one) < Math.trunc(other)) expect(first < second).toBe(true);
      }),
    );
  });

  it('gives a message without a context a UUIDv7 in hex', () => {
    expect(mintContextId(source)).toMatch(/^ctx_0190a1b2c3d47[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });

  it('gives a command in the background and a delegation a UUIDv7 in hex', () => {
    expect(mintWorkId(source)).toMatch(/^wrk_0190a1b2c3d47[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(mintDelegationId(source)).toMatch(/^dlg_0190a1b2c3d47[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });

  it('gives a trace line a UUIDv7 in hex', () => {
    expect(mintTraceEventId(source)).toMatch(/^evt_0190a1b2c3d47[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });
});
