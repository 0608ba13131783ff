import { describe, expect, it } from 'vitest';

import { noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import { identityRefusal } from './refusals.ts';
import { judgeAsking, type Asking } from './decisions.ts';

const asking: Asking = {
  name: 'scout',
  envelope: {
    networkAllow: [],
    peerFetchAllow: [],
    bindings: [],
    credentials: [],
    shellAllow: [],
    spawnAllow: ['scout'],
    envAllow: [],
    hostRead: [],
    project: null,
    filesystemScope: null,
    ...noFlags,
    stateStores: [],
    artifactRuns: [],
    remoteServers: [],
    containmentFloor: null,
  },
  depthRemaining: 1,
  liveChildren: 3,
  liveCapsules: 15,
};
const bounds = { maxDepth: 3, maxConcurrent: 4, maxLiveCapsules: 16 };

describe('a session that asks for a child', () => {
  it('has room for one below each bound, and for none at it', () => {
    expect(judgeAsking(asking, bounds)).toBeNull();
    for (const full of [{ depthRemaining: 0 }, { liveChildren: 4 }, { liveCapsules: 16 }, { liveChildren: 5 }]) {
      expect(judgeAsking({ ...asking, ...full }, bounds)?.status).toBe(403);
    }
  });

  it.each(['depthRemaining', 'liveChildren', 'liveCapsules'] as const)(
    'gets the identity refusal when %s cannot be read',
    (figure) => {
      for (const unreadable of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53]) {
        expect(judgeAsking({ ...asking, [figure]: unreadable }, bounds)).toBe(identityRefusal);
      }
    },
  );

  it('meets the first bound that is reached, in their order [D2-BOUND-01] [D2-BOUND-02] [D2-BOUND-03]', () => {
    const begins = (full: Partial<Asking>): string | undefined =>
      judgeAsking({ ...asking, ...full }, bounds)?.sentence.split(':')[0];
    expect(begins({ depthRemaining: 0, liveCapsules: 16, liveChildren: 4 })).toBe('depth bound reached');
    expect(begins({ liveCapsules: 16, liveChildren: 4 })).toBe('machine ceiling reached');
    expect(begins({ liveChildren: 4 })).toBe('concurrency bound reached');
    expect(begins({ name: 'x', depthRemaining: 0 })).toMatch(/^capsule x not in parent's spawn_allow/);
  });
});
