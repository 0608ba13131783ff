import { expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import {
  type HistoryEvent,
  type Effect,
  type Recorder,
  type Inside,
  LiveRecorder,
} from '../../src/recorder/recorder.ts';
import { type ReplayEnd, Replayer } from '../../src/replay/replayer.ts';

const inside: Inside = { chunk: () => {}, ask: () => Promise.resolve(null), note: () => true };
const { signal } = new AbortController();

function effect(place: string): Effect & { readonly signal: AbortSignal } {
  return { place, port: 'tool', name: 'sh', input: {}, signal };
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T | Promise<T>) => void } {
  let resolve: (value: T | Promise<T>) => void = () => {};
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Looks at something, and asks the model for what follows once that is known; a timer runs out meanwhile, and starts a command. */
function session(recorder: Recorder, look: () => Promise<null>): Promise<unknown> {
  const onTimer = deferred<unknown>();
  recorder.timer('session/timer', 0, () =>
    onTimer.resolve(recorder.effect(effect('session/command'), inside, async () => 1)),
  );
  const looked = recorder
    .settle('session/look', look)
    .then(() => recorder.effect(effect('session/next'), inside, async () => 2));
  return Promise.all([onTimer.promise, looked]);
}

/** What went through the recorder of a session whose look settles when `settle` is awaited, up to where `isKilled` says. */
async function recorded(isKilled: (historyEvent: HistoryEvent) => boolean): Promise<HistoryEvent[]> {
  const historyEvents: HistoryEvent[] = [];
  const killed = deferred<void>();
  const over = deferred<null>();
  let isOver = false;
  const recorder = new LiveRecorder((historyEvent) => {
    if (isOver) return;
    historyEvents.push(structuredClone(historyEvent));
    isOver = isKilled(historyEvent);
    if (isOver) killed.resolve();
    if (historyEvent.kind === 'end') over.resolve(null);
  }, systemClock);
  const whole = session(recorder, () => over.promise);
  await Promise.race([killed.promise, whole]);
  over.resolve(null);
  await whole;
  return historyEvents;
}

async function replayed(historyEvents: readonly HistoryEvent[], isWhole: boolean): Promise<ReplayEnd> {
  const recorder = new Replayer(historyEvents, () => ({ arrive: () => true, note: () => {} }), { isWhole });
  recorder.begin();
  void session(recorder, () => Promise.reject(new Error('nothing is looked at in a replay'))).then(() =>
    recorder.finish(),
  );
  return await recorder.ended;
}

it('a session that is killed while something goes past an open look is met again as far as it goes', async () => {
  const historyEvents = await recorded(({ kind }) => kind === 'end');
  expect(historyEvents).toMatchObject([
    { kind: 'arrived', what: 'timer', past: ['session/look'] },
    { kind: 'start', place: 'session/command' },
    { kind: 'end', place: 'session/command' },
  ]);
  expect(historyEvents.flatMap((historyEvent) => ('past' in historyEvent ? [historyEvent.kind] : []))).toEqual([
    'arrived',
  ]);
  expect(await replayed(historyEvents, false)).toEqual({ kind: 'cut-off', place: 'session/look' });
});

it('a session that goes on from there is the same to its end', async () => {
  const historyEvents = await recorded(() => false);
  expect(historyEvents.map(({ kind }) => kind)).toEqual(['arrived', 'start', 'end', 'settled', 'start', 'end']);
  expect(await replayed(historyEvents, true)).toEqual({ kind: 'same' });
});

it('a recording from before the mark is met again as it was', async () => {
  const historyEvents = (await recorded(() => false)).map((historyEvent) => {
    const { past: _past, ...rest } = historyEvent as HistoryEvent & { past?: unknown };
    return rest;
  });
  expect(await replayed(historyEvents, true)).toEqual({ kind: 'same' });
});

it('a mark of a look that the session never has parts the replay', async () => {
  const historyEvents = await recorded(({ kind }) => kind === 'end');
  const forged = historyEvents.map((historyEvent) => {
    if (historyEvent.kind !== 'arrived') return historyEvent;
    return Object.assign({}, historyEvent, { past: ['session/look', 'session/other'] });
  });
  expect(await replayed(forged, false)).toEqual({
    kind: 'parted',
    parting: { place: 'session/other', port: 'look', problem: 'was not looked at again' },
  });
});

/** Looks at two things at once, and asks for the same with what it saw, as two steps of a plan do. */
function twoLooks(recorder: Recorder, look: (name: string) => Promise<null>): Promise<unknown> {
  return Promise.all(
    ['first', 'second'].map(async (name) => {
      await recorder.settle(`session/${name}`, () => look(name));
      await recorder.effect({ ...effect('session/next'), input: { name } }, inside, async () => 1);
    }),
  );
}

it('a session that is killed after the later of two looks has settled first is met again as far as it goes', async () => {
  const historyEvents: HistoryEvent[] = [];
  const [started, first] = [deferred<void>(), deferred<null>()];
  const recorder = new LiveRecorder((historyEvent) => {
    historyEvents.push(structuredClone(historyEvent));
    if (historyEvent.kind === 'start') started.resolve();
  }, systemClock);
  const whole = twoLooks(recorder, async (name) => (name === 'first' ? await first.promise : null));
  await started.promise;
  const killed = [...historyEvents];
  first.resolve(null);
  await whole;
  const replays = [killed, historyEvents].map(async (events) => {
    const replayer = new Replayer(events, () => ({ arrive: () => true, note: () => {} }), {
      isWhole: events === historyEvents,
    });
    replayer.begin();
    void twoLooks(replayer, () => Promise.reject(new Error('nothing is looked at in a replay'))).then(() =>
      replayer.finish(),
    );
    return await replayer.ended;
  });
  expect(killed.at(-1)).toMatchObject({ kind: 'start', place: 'session/next', input: { name: 'second' } });
  expect(await Promise.all(replays)).toEqual([{ kind: 'cut-off', place: 'session/next' }, { kind: 'same' }]);
});
