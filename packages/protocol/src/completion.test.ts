import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { count, delegation, optional, text } from '../test/both-ways.ts';
import {
  type Completion,
  type CompletionRecord,
  decodeCompletion,
  encodeCompletion,
  encodeCompletionRecord,
} from './completion.ts';

describe('what a parent gets to know of its child', () => {
  it('has the end of the child, in a message and in its record', () => {
    const completion: fc.Arbitrary<Completion> = fc.record(
      {
        delegation_id: delegation,
        capsule_name: text,
        capsule_version: text,
        session_id: text,
        status: fc.constantFrom('ok' as const, 'error' as const, 'crashed' as const, 'terminated' as const),
        result_path: text,
        workdir: text,
        duration_ms: count,
        detail: text,
      },
      {
        requiredKeys: [
          'delegation_id',
          'capsule_name',
          'capsule_version',
          'session_id',
          'status',
          'workdir',
          'duration_ms',
        ],
      },
    );
    const read = (told: Completion & Partial<CompletionRecord>): unknown => ({
      delegationId: told.delegation_id,
      capsuleName: told.capsule_name,
      capsuleVersion: told.capsule_version,
      sessionId: told.session_id,
      status: told.status,
      resultPath: told.result_path ?? null,
      workdir: told.workdir,
      durationMs: told.duration_ms,
      detail: told.detail ?? null,
      reportedBy: told.reported_by ?? null,
      delivered: told.delivered ?? false,
      deliveryError: told.delivery_error ?? null,
    });
    fc.assert(
      fc.property(completion, fc.boolean(), optional, (end, delivered, why) => {
        expect(decodeCompletion(encodeCompletion(end))).toEqual(read(end));
        const record = { ...end, reported_by: 'child' as const, delivered };
        const whole = why === null ? record : { ...record, delivery_error: why };
        expect(decodeCompletion(encodeCompletionRecord(whole))).toEqual(read(whole));
      }),
    );
    expect(decodeCompletion('{"status":"later","duration_ms":-1,"reported_by":"me","delivered":1}')).toMatchObject({
      status: null,
      durationMs: null,
      reportedBy: null,
      delivered: false,
    });
    expect(decodeCompletion('nothing')).toBeNull();
  });

  it('has nothing of a text that is too long or nests too deep, in finite time', () => {
    const padded = (length: number): string => '{"status":"ok"}'.padEnd(length);
    expect(decodeCompletion(padded(65_536))?.status).toBe('ok');
    expect(decodeCompletion(padded(65_537))).toBeNull();
    expect(decodeCompletion(`{"status":"ok","later":${'['.repeat(500)}${']'.repeat(500)}}`)).toBeNull();
    expect(decodeCompletion('{"status":"ok","duration_ms":1e999}')).toMatchObject({ status: 'ok', durationMs: null });
  });
});
