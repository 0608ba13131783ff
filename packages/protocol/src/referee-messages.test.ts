import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, count, text, wired } from '../test/both-ways.ts';
import {
  decodeCredential,
  decodeDeregisterRequest,
  decodeGrant,
  decodeRegisterRequest,
  decodeSessionReport,
  decodeSpawnRequest,
  encodeCredential,
  encodeDeregisterRequest,
  encodeGrant,
  encodeRegisterRequest,
  encodeSessionReport,
  encodeSpawnRequest,
} from './referee-messages.ts';

describe('what the referee is asked and answers', () => {
  const artifact = { name: text, version: text };
  const token = fc.stringMatching(/^[!-~]{1,100}$/);

  it('reads as it was written', () => {
    expect(encodeCredential('c')).toEqual({ credential: 'c' });
    bothWays(fc.record(artifact), (request) => decodeSpawnRequest(JSON.parse(encodeSpawnRequest(request))));
    bothWays(fc.record({ sessionId: fc.string({ minLength: 1, maxLength: 256 }), ...artifact }), (request) =>
      decodeRegisterRequest(JSON.parse(encodeRegisterRequest(request))),
    );
    const deregister = {
      outcome: fc.constantFrom('complete' as const, 'failed' as const),
      child: fc.option(text, { nil: undefined }),
    };
    bothWays(fc.record(deregister), (request) => decodeDeregisterRequest(JSON.parse(encodeDeregisterRequest(request))));
    bothWays(fc.record({ approval: token, ...artifact, sha256: text, expiresAtMs: count }), (grant) =>
      decodeGrant(wired(encodeGrant(grant))),
    );
    bothWays(token, (credential) => decodeCredential(wired(encodeCredential(credential))));
    const report = {
      status: fc.constantFrom('running' as const, 'complete' as const, 'failed' as const),
      depthRemaining: count,
      liveChildren: count,
      liveCapsules: count,
    };
    bothWays(fc.record(report), (each) => decodeSessionReport(wired(encodeSessionReport(each))));
  });

  it('has these bytes', () => {
    expect(encodeSpawnRequest({ name: 'n', version: 'v' })).toBe('{"name":"n","version":"v"}');
    expect(encodeRegisterRequest({ sessionId: 's', name: 'n', version: 'v' })).toBe(
      '{"session_id":"s","name":"n","version":"v"}',
    );
    expect(encodeDeregisterRequest({ outcome: 'failed', child: undefined })).toBe('{"outcome":"failed"}');
    expect(encodeDeregisterRequest({ outcome: 'failed', child: 's' })).toBe('{"outcome":"failed","child":"s"}');
    const grant = { approval: 'a', name: 'n', version: 'v', sha256: 'h', expiresAtMs: 1 };
    expect(JSON.stringify(encodeGrant(grant))).toBe(
      '{"approval":"a","name":"n","version":"v","sha256":"h","expires_at_ms":1}',
    );
    const report = { status: 'running', depthRemaining: 3, liveChildren: 2, liveCapsules: 1 } as const;
    expect(JSON.stringify(encodeSessionReport(report))).toBe(
      '{"status":"running","depth_remaining":3,"live_children":2,"live_capsules":1}',
    );
  });

  it('accepts nothing else', () => {
    for (const odd of [null, [], {}, { name: 'n' }, { name: 'n', version: 1 }])
      expect(decodeSpawnRequest(odd)).toBeNull();
    const named = { name: 'n', version: 'v' };
    for (const session_id of [undefined, 1, '', 'x'.repeat(257)]) {
      expect(decodeRegisterRequest({ session_id, ...named })).toBeNull();
    }
    for (const odd of [{}, { outcome: 'later' }, { outcome: 'failed', child: null }]) {
      expect(decodeDeregisterRequest(odd)).toBeNull();
    }
    for (const odd of [{ credential: '' }, { credential: 1 }, null]) expect(decodeCredential(odd)).toBeNull();
    for (const odd of [
      { ...named, approval: '', sha256: 'h' },
      { ...named, approval: 'a' },
      { approval: 'a', sha256: 'h' },
    ]) {
      expect(decodeGrant(odd)).toBeNull();
    }
    for (const odd of ['a\n{}', 'a\r\nx: y', 'a b', 'é', 'a'.repeat(16_385)]) {
      expect([decodeGrant({ ...named, approval: odd, sha256: 'h' }), decodeCredential({ credential: odd })]).toEqual([
        null,
        null,
      ]);
    }
    expect(decodeGrant({ ...named, approval: 'a', sha256: 'h' })?.expiresAtMs).toBeNull();
    expect(decodeGrant({ ...named, approval: 'a', sha256: 'h', expires_at_ms: Infinity })?.expiresAtMs).toBeNull();
    const counts = { depth_remaining: 1, live_children: 1, live_capsules: 1 };
    expect(decodeSessionReport({ status: 'later', ...counts })).toBeNull();
    expect(decodeSessionReport({ status: 'running', ...counts, live_children: -1 })).toBeNull();
  });
});
