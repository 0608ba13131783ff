import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';

import { afterAll, describe, expect, it } from 'vitest';

import type { HistoryEvent, Recorder } from '../../src/recorder/recorder.ts';
import type { Chunk } from '../../src/recorder/shown-chunks.ts';
import { Places } from '../../src/recorder/places.ts';
import type { FakeClock } from '../../../../test/support/fake-clock.ts';
import { journalRandomSession, killedRandomSession, recordRandomSession, replaySession } from './random-session.ts';
import { remote } from './random-tools.ts';

/** `npm run test:long -- many` runs 1,000, 500 with a change, and kills 300 at each of their records. */
const sessions = Number(process.env['REPLAY_SESSIONS'] ?? '10');
const changes = Math.ceil(sessions / 2);
const kills = sessions < 1000 ? { of: sessions, each: 3 } : { of: 300, each: Infinity };

const longRun = { timeout: 3_600_000 };

/** What random sessions meet, where there are many of them. */
const met = [
  '"port":"mcp","name":"web__echo"',
  '"port":"mcp","name":"web__book"',
  'the server of web asks',
  'it does not work',
  'Use it as guide says',
  'Notes of guide',
  'not allowed while the skill',
  'no call is allowed by both',
  '"what":"decision"',
  '"what":"change"',
  '"what":"request"',
];

afterAll(() => remote.close());

describe('a session of plans, cancels, questions, approvals, hooks, skills, tools on the web and messages at random', () => {
  it(
    `runs again from its journal to the same trace, and reaches nothing outside, ${sessions} times over`,
    longRun,
    async () => {
      const outside = watchedOutside();
      let unmet = met;
      for (let round = 0; round < sessions; round += 1) {
        const { historyEvents, status, traced } = await journalRandomSession();
        const recorded = JSON.stringify(historyEvents);
        unmet = unmet.filter((each) => !recorded.includes(each));
        const before = outside.opened();
        const replayed = await replaySession(historyEvents);
        expect(replayed, shown(historyEvents)).toEqual({ end: { kind: 'same' }, status, traced });
        expect(outside.opened()).toEqual(before);
      }
      const { sockets, processes } = outside.close();
      if (sessions < 300) return;
      expect(unmet).toEqual([]);
      expect(Math.min(sockets, processes)).toBeGreaterThan(0);
    },
  );

  it(
    `parts where one input was changed, and names the place and the path, ${changes} times over`,
    longRun,
    async () => {
      for (let round = 0; round < changes; round += 1) {
        const { historyEvents } = await recordRandomSession();
        const starts = historyEvents.filter((historyEvent) => historyEvent.kind === 'start');
        const changed = starts[Math.floor(Math.random() * starts.length)];
        if (changed === undefined) continue;
        const altered = historyEvents.map((historyEvent) =>
          historyEvent === changed ? { ...changed, input: withChange(changed.input) } : historyEvent,
        );
        const { end } = await replaySession(altered);
        const { place, port } = changed;
        const parting = { place, port, problem: 'is asked with other input', path: '/changed', recorded: true };
        expect(end, shown(historyEvents)).toMatchObject({ kind: 'parted', parting });
      }
    },
  );

  it('does not always run again when what comes from outside is not led in one at a time', longRun, async () => {
    let [same, parted] = [0, 0];
    while (parted === 0 && same < 1000) {
      const recorded = await recordRandomSession(unrecorded);
      const { end, traced } = await replaySession(recorded.historyEvents);
      if (end.kind === 'same' && inspect(traced) === inspect(recorded.traced)) same += 1;
      else parted += 1;
    }
    expect(parted, `${same} sessions ran again`).toBe(1);
  });

  it('replays to where its recording was cut off', async () => {
    const { historyEvents } = await recordRandomSession();
    const model = historyEvents.findIndex(
      (historyEvent) => historyEvent.kind === 'start' && historyEvent.port === 'model',
    );
    const { end } = await replaySession(historyEvents.slice(0, model + 1));
    const start = historyEvents[model];
    expect(end).toEqual({ kind: 'cut-off', place: start?.kind === 'start' ? start.place : '' });
  });

  it(`replays to the same lines after a kill at any of its records, ${kills.of} times over`, longRun, async () => {
    for (let round = 0; round < kills.of; round += 1) {
      for (const { kept, traced } of await killedRandomSession(kills.each)) {
        const replayed = await replaySession(kept, false);
        expect(replayed.end, shown(kept)).toMatchObject({ kind: 'cut-off' });
        expect(replayed.traced.slice(0, traced.length), shown(kept)).toEqual(traced);
      }
    }
  });

  it(
    `parts where something is changed or put in before the place where it was cut off, ${changes} times over`,
    longRun,
    async () => {
      for (let round = 0; round < changes; round += 1) {
        const { historyEvents } = await recordRandomSession();
        const starts = historyEvents.flatMap((historyEvent, index) => (historyEvent.kind === 'start' ? [index] : []));
        const at = starts[Math.floor(Math.random() * starts.length)] ?? 0;
        const kept = historyEvents.slice(0, at + 1 + Math.floor(Math.random() * (historyEvents.length - at)));
        const start = kept[at];
        if (start?.kind !== 'start') continue;
        const ghost = { ...start, place: `${start.place}/ghost` };
        for (const forged of [
          kept.with(at, { ...start, input: withChange(start.input) }),
          kept.toSpliced(at, 0, ghost),
          kept.toSpliced(at, 0, start),
        ]) {
          const { end } = await replaySession(forged, false);
          expect(end, shown(forged)).toMatchObject({ kind: 'parted' });
        }
      }
    },
  );
});

/** Counts the connections and programs that this process begins. */
function watchedOutside(): { readonly opened: () => Opened; readonly close: () => Opened } {
  const opened = { sockets: 0, processes: 0 };
  const onSocket = (): void => void (opened.sockets += 1);
  const onProcess = (): void => void (opened.processes += 1);
  subscribe('net.client.socket', onSocket);
  subscribe('child_process', onProcess);
  return {
    opened: () => ({ ...opened }),
    close: () => {
      unsubscribe('net.client.socket', onSocket);
      unsubscribe('child_process', onProcess);
      return opened;
    },
  };
}

interface Opened {
  readonly sockets: number;
  readonly processes: number;
}

function withChange(input: unknown): unknown {
  return { changed: true, ...(input as object) };
}

function shown(historyEvents: readonly HistoryEvent[]): string {
  return inspect(historyEvents.slice(-8), { depth: 6 });
}

/** Writes everything down as it comes, and lets it in at that very moment. */
function unrecorded(record: (historyEvent: HistoryEvent) => void, clock: FakeClock): Recorder {
  const places = new Places();
  return {
    effect: async ({ signal, ...effect }, inside, live) => {
      const place = places.next(effect.place);
      record({ kind: 'start', ...effect, place });
      const end = (value: unknown, lost: boolean): void =>
        record({ kind: 'end', place, value, lost, chunks: noChunks, durationMs: 0 });
      try {
        const value = await live({
          ...inside,
          ask: (what, asked) => {
            record({ kind: 'ask', place, what, value: asked, chunks: noChunks });
            return inside.ask(what, asked);
          },
          note: (event) => {
            record({ kind: 'noted', place, event });
            return inside.note(event);
          },
        });
        end(value, false);
        return value;
      } catch (error) {
        if (signal.aborted) end(undefined, true);
        throw error;
      }
    },
    settle: async (place, look) => {
      const value = await look();
      record({ kind: 'settled', place: places.next(place), value, fault: null });
      return value;
    },
    find: (place, look) => {
      places.next(place);
      return look();
    },
    arrive: (arrival) => record({ kind: 'arrived', together: false, ...arrival }),
    timer: (name, ms, callback) => {
      const numbered = places.next(name);
      return clock.after(ms, () => {
        record({ kind: 'arrived', together: false, what: 'timer', name: numbered });
        callback();
      });
    },
    over: () => {},
    stepOf: () => null,
  };
}

const noChunks: readonly Chunk[] = [];
