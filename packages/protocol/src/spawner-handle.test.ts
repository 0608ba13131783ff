import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, delegation, session, trust } from '../test/both-ways.ts';
import type { ContextId, DelegationId, SessionId } from './ids.ts';
import { decodeSpawnerHandle, encodeSpawnerHandle } from './spawner-handle.ts';

describe('what a child gets to know of its parent', () => {
  it('has the handle of a spawner', () => {
    const handle = fc.record({
      url: fc
        .integer({ min: 1, max: 65_535 })
        .filter((port) => port !== 80)
        .map((port) => `http://127.0.0.1:${port}`),
      session_id: session,
      context_id: fc.string({ minLength: 1 }).map((id) => id as ContextId),
      trust,
      delegation_id: delegation,
    });
    bothWays(handle, (each) => {
      const decoded = decodeSpawnerHandle(encodeSpawnerHandle(each));
      return decoded.kind === 'handle' ? decoded.handle : decoded;
    });
    expect(
      encodeSpawnerHandle({
        url: 'http://127.0.0.1:1',
        session_id: 'ses_1' as SessionId,
        context_id: 'ctx_1' as ContextId,
        trust: 'trusted',
        delegation_id: 'dlg_1' as DelegationId,
      }),
    ).toBe(
      '{"url":"http://127.0.0.1:1","session_id":"ses_1","context_id":"ctx_1","trust":"trusted","delegation_id":"dlg_1"}',
    );
  });
});
