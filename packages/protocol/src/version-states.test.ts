import { describe, expect, it } from 'vitest';

import {
  decodeStateChange,
  decodeStateReceipt,
  decodeVersions,
  encodeStateChange,
  encodeStateReceipt,
  encodeStateTarget,
  encodeVersions,
  encodeVersionsTarget,
  isReason,
  type PublishedVersion,
} from './version-states.ts';

const sha256 = 'a'.repeat(64);
const version: PublishedVersion = {
  version: '1.0.0',
  state: 'yanked',
  reason: 'loses data',
  runtime: 'wasm',
  artifact_runtime: 'tool',
  description: null,
  archives: [
    {
      platforms: [],
      sha256,
      size: 12,
      published_at: '2026-01-02T03:04:05.000Z',
      published_by: 'ci-acme',
      signatures: 2,
    },
    { platforms: [['linux', 'x86_64']], sha256, size: 0, published_at: null, published_by: null, signatures: null },
  ],
};

describe('what a registry says of versions', () => {
  it('has the name of the artifact, and each state under its version', () => {
    expect(encodeVersionsTarget('echo')).toBe('/v1/artifacts/echo');
    expect(encodeStateTarget('echo', '1.0.0+a')).toBe('/v1/artifacts/echo/1.0.0%2Ba/state');
  });

  it('reads as it was written', () => {
    const text = encodeVersions('echo', [version]);
    expect(JSON.parse(text)).toEqual({ name: 'echo', versions: [version] });
    expect(decodeVersions(text, 'echo')).toEqual({ kind: 'versions', versions: [version] });
  });

  it('fails as a whole where a part is invalid', () => {
    const broken: unknown[] = [
      { ...version, state: 'gone' },
      { ...version, reason: 'a\nb' },
      { ...version, reason: 'x'.repeat(501) },
      { ...version, version: 1 },
      { ...version, runtime: 'elf' },
      { ...version, artifact_runtime: 'capsule' },
      { ...version, description: 1 },
      { ...version, archives: [] },
      { ...version, archives: [{ ...version.archives[0], sha256: 'A'.repeat(64) }] },
      { ...version, archives: [{ ...version.archives[0], size: -1 }] },
      { ...version, archives: [{ ...version.archives[0], size: 1e300 }] },
      { ...version, archives: [{ ...version.archives[0], platforms: [['linux']] }] },
      { ...version, archives: [{ ...version.archives[0], published_by: 7 }] },
      { ...version, archives: [{ ...version.archives[0], signatures: -1 }] },
      { ...version, archives: [{ ...version.archives[0], signatures: '2' }] },
      null,
    ];
    for (const each of broken) {
      const text = JSON.stringify({ name: 'echo', versions: [version, each] });
      expect(decodeVersions(text, 'echo'), JSON.stringify(each)).toEqual({
        kind: 'unparsable',
        reason: 'its version 1 is not what it should be',
      });
    }
    const noObject = { reason: 'it is not a JSON object, or holds too much' };
    expect(decodeVersions('[', 'echo')).toMatchObject(noObject);
    const many = `{"name":"echo","versions":[],"more":[${'{},'.repeat(2 ** 20)}{}]}`;
    expect(decodeVersions(many, 'echo')).toMatchObject(noObject);
    expect(decodeVersions(encodeVersions('grep', []), 'echo')).toMatchObject({
      reason: 'it is about another artifact',
    });
    expect(decodeVersions('{"name":"echo"}', 'echo')).toMatchObject({ reason: 'it lists no versions' });
  });

  it('changes by a state, with a reason for all but the active one', () => {
    for (const change of [
      { state: 'blocked', reason: 'malware' } as const,
      { state: 'active', reason: null } as const,
    ]) {
      expect(decodeStateChange(encodeStateChange(change))).toEqual({ kind: 'change', change });
    }
    const unusable = [
      '[]',
      '{',
      '{"state":"gone","reason":"x"}',
      '{"state":"yanked"}',
      '{"state":"yanked","reason":""}',
    ];
    for (const text of [...unusable, '{"state":"active","reason":7}', '{"state":"yanked","reason":"x","until":1}']) {
      expect(decodeStateChange(text), text).toMatchObject({ kind: 'unusable' });
    }
  });

  it('has reasons of 1 to 500 characters without control characters', () => {
    expect([isReason('x'.repeat(500)), isReason('ähm, ‮')]).toEqual([true, true]);
    expect([isReason(''), isReason('x'.repeat(501)), isReason('a\u0007'), isReason('a\u009b'), isReason(3)]).toEqual(
      Array.from({ length: 5 }, () => false),
    );
  });
});

describe('the answer to a change of state', () => {
  it('reads as it was written', () => {
    const text = encodeStateReceipt('echo', '1.0.0', { state: 'yanked', reason: 'loses data' });
    expect(JSON.parse(text)).toEqual({ name: 'echo', version: '1.0.0', state: 'yanked', reason: 'loses data' });
    expect(decodeStateReceipt(text, 'echo', '1.0.0')).toBe('yanked');
  });

  it.each([
    '',
    '<html>Welcome</html>',
    '[]',
    '{"name":"echo","version":"1.0.0"}',
    '{"name":"echo","version":"1.0.0","state":"gone"}',
    '{"name":"echo","version":"1.0.1","state":"yanked"}',
    '{"name":"tone","version":"1.0.0","state":"yanked"}',
  ])('says nothing where it is %j', (text) => {
    expect(decodeStateReceipt(text, 'echo', '1.0.0')).toBeNull();
  });
});
