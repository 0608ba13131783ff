import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';
import { SessionRecords, type SessionRecord } from './session-records.ts';

const capsule: ResolvedCapsule = {
  name: 'lead',
  version: '1.0.0',
  sha256: 'a'.repeat(64),
  envelope: {
    networkAllow: [],
    peerFetchAllow: [],
    bindings: [],
    credentials: [],
    shellAllow: [],
    spawnAllow: ['lead'],
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
};

class Scene {
  now = 0;
  readonly records: SessionRecords = new SessionRecords(() => this.now);
  #ids = 0;

  admit(): SessionRecord {
    return this.records.admit(this.registration());
  }

  redeem(serial: number): SessionRecord {
    this.records.spend(serial);
    return this.records.redeem(serial, this.registration());
  }

  registration(): Parameters<SessionRecords['admit']>[0] {
    return { id: `ses_${(this.#ids += 1)}`, depthRemaining: 3, capsule };
  }
}

/** What the figures have to be, counted anew each time. */
interface Model {
  readonly sessions: { readonly record: SessionRecord; readonly parent: SessionRecord | null; running: boolean }[];
  readonly slots: {
    readonly parent: SessionRecord;
    readonly serial: number;
    readonly expiresAt: number;
    state: 'held' | 'refused' | 'redeemed';
  }[];
}

function held({ sessions, slots }: Model, now: number): Model['slots'] {
  const running = new Set(sessions.filter((session) => session.running).map(({ record }) => record));
  return slots.filter((slot) => slot.state !== 'redeemed' && slot.expiresAt > now && running.has(slot.parent));
}

type Step = (scene: Scene, model: Model, choice: number) => void;

const steps: Readonly<Record<string, Step>> = {
  admit: (scene, { sessions }) => {
    sessions.push({ record: scene.admit(), parent: null, running: true });
  },
  reserve: ({ records }, { sessions, slots }, choice) => {
    const running = sessions.filter((session) => session.running);
    const parent = running[choice % running.length]?.record;
    if (parent !== undefined) slots.push({ parent, state: 'held', ...records.reserve(parent) });
  },
  redeem: (scene, model, choice) => {
    const open = held(model, scene.now).filter(({ state }) => state === 'held');
    const slot = open[choice % open.length];
    if (slot === undefined) return;
    slot.state = 'redeemed';
    model.sessions.push({ record: scene.redeem(slot.serial), parent: slot.parent, running: true });
  },
  refuse: ({ records, now }, model, choice) => {
    const open = held(model, now).filter(({ state }) => state === 'held');
    const slot = open[choice % open.length];
    if (slot === undefined) return;
    slot.state = 'refused';
    records.spend(slot.serial);
  },
  end: ({ records }, { sessions }, choice) => {
    const running = sessions.filter((session) => session.running);
    const session = running[choice % running.length];
    if (session === undefined) return;
    session.running = false;
    records.end(session.record, choice % 2 === 0 ? 'complete' : 'failed');
  },
  wait: (scene, _model, choice) => {
    scene.now += choice % 30_000;
  },
};

describe('the figures of the records', () => {
  it('agree with a count of all sessions and slots, whatever happened [D2-SESS-03] [D2-SLOT-02] [D2-SLOT-03] [D2-SLOT-04] [D2-SLOT-06]', () => {
    const step = fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.nat());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (taken) => {
        const scene = new Scene();
        const model: Model = { sessions: [], slots: [] };
        for (const [name, choice] of taken) steps[name]?.(scene, model, choice);
        const slots = held(model, scene.now);
        const running = model.sessions.filter((session) => session.running);
        expect(scene.records.liveCapsules()).toBe(running.length + slots.length);
        for (const { record } of model.sessions) {
          const children = running.filter(({ parent }) => parent === record).length;
          const reserved = slots.filter(({ parent }) => parent === record).length;
          expect(scene.records.liveChildren(record)).toBe(children + reserved);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('stay exact over many thousand approvals, which are forgotten once they have expired', () => {
    const scene = new Scene();
    const parent = scene.admit();
    const serials: number[] = [];
    for (let count = 0; count < 20_000; count += 1) {
      scene.now += 100;
      serials.push(scene.records.reserve(parent).serial);
      const expected = Math.min(count + 1, 600);
      if (count % 500 === 0 || count > 19_990) expect(scene.records.liveChildren(parent)).toBe(expected);
    }
    expect(new Set(serials).size).toBe(20_000);
    const live = serials.filter((serial) => scene.records.reservation(serial) !== undefined);
    expect(live).toEqual(serials.slice(-600));
    scene.now += 60_000;
    expect(scene.records.liveCapsules()).toBe(1);
  });

  it('stay exact with ten thousand sessions that register, ask and end', () => {
    const scene = new Scene();
    const sessions = Array.from({ length: 10_000 }, () => scene.admit());
    for (const session of sessions) scene.records.reserve(session);
    expect(scene.records.liveCapsules()).toBe(20_000);
    for (const session of sessions) scene.records.end(session, 'complete');
    expect(scene.records.liveCapsules()).toBe(0);
  });
});

describe('a record', () => {
  it('keeps its status when its session ends, and gives up its grants', () => {
    const { records } = new Scene();
    const session = records.admit({ id: 'a', depthRemaining: 3, capsule });
    expect(session.envelope).toBe(capsule.envelope);
    records.end(session, 'failed');
    expect(records.find('a')).toMatchObject({ status: 'failed', depthRemaining: 3, envelope: null });
    expect(records.running(session.serial)).toBeUndefined();
  });

  it('shares its grants with others of the same artifact while one of them runs', () => {
    const { records } = new Scene();
    const copy = (): ResolvedCapsule => ({ ...capsule, envelope: { ...capsule.envelope } });
    const first = records.admit({ id: 'a', depthRemaining: 3, capsule });
    const second = records.admit({ id: 'b', depthRemaining: 3, capsule: copy() });
    expect(second.envelope).toBe(capsule.envelope);
    records.end(first, 'complete');
    expect(records.admit({ id: 'c', depthRemaining: 3, capsule: copy() }).envelope).toBe(capsule.envelope);
    const other = { ...copy(), sha256: 'b'.repeat(64) };
    expect(records.admit({ id: 'd', depthRemaining: 3, capsule: other }).envelope).toBe(other.envelope);
  });

  it('keeps the grants of an artifact no longer than its last session', () => {
    const { records } = new Scene();
    const copy = (): ResolvedCapsule => ({ ...capsule, envelope: { ...capsule.envelope } });
    const sessions = ['a', 'b', 'c'].map((id) => records.admit({ id, depthRemaining: 3, capsule }));
    for (const session of sessions.slice(1)) records.end(session, 'complete');
    expect(records.admit({ id: 'd', depthRemaining: 3, capsule: copy() }).envelope).toBe(capsule.envelope);
    for (const id of ['a', 'd']) records.end(records.find(id)!, 'complete');
    const later = copy();
    expect(records.admit({ id: 'e', depthRemaining: 3, capsule: later }).envelope).toBe(later.envelope);
  });

  it('begins, spends, redeems and ends once: anything else is a bug of the caller', () => {
    const scene = new Scene();
    const session = scene.admit();
    const { serial } = scene.records.reserve(session);
    expect(() => scene.records.redeem(serial, scene.registration())).toThrow('approval 0 cannot be redeemed');
    scene.redeem(serial);
    expect(() => scene.records.spend(serial)).toThrow('approval 0 cannot be spent');
    expect(() => scene.records.spend(7)).toThrow('approval 7 cannot be spent');
    expect(() => scene.records.redeem(7, scene.registration())).toThrow('approval 7 cannot be redeemed');
    scene.records.end(session, 'complete');
    expect(() => scene.records.end(session, 'failed')).toThrow('session 0 has ended already');
    expect(() => scene.records.admit({ id: 'ses_1', depthRemaining: 3, capsule })).toThrow('registered already');
  });
});
