import { expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { type Crossing, type Effect, type Gate, type Inside, RecordingGate } from '../../src/gate/gate.ts';
import { type ReplayEnd, ReplayGate } from '../../src/replay/replay-gate.ts';

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
function session(gate: Gate, look: () => Promise<null>): Promise<unknown> {
  const onTimer = deferred<unknown>();
  gate.timer('session/timer', 0, () => onTimer.resolve(gate.effect(effect('session/command'), inside, async () => 1)));
  const looked = gate
    .settle('session/look', look)
    .then(() => gate.effect(effect('session/next'), inside, async () => 2));
  return Promise.all([onTimer.promise, looked]);
}

/** What went through the gate of a session whose look settles when `settle` is awaited, up to where `isKilled` says. */
async function recorded(isKilled: (crossing: Crossing) => boolean): Promise<Crossing[]> {
  const crossings: Crossing[] = [];
  const killed = deferred<void>();
  const over = deferred<null>();
  let isOver = false;
  const gate = new RecordingGate((crossing) => {
    if (isOver) return;
    crossings.push(structuredClone(crossing));
    isOver = isKilled(crossing);
    if (isOver) killed.resolve();
    if (crossing.kind === 'end') over.resolve(null);
  }, systemClock);
  const whole = session(gate, () => over.promise);
  await Promise.race([killed.promise, whole]);
  over.resolve(null);
  await whole;
  return crossings;
}

async function replayed(crossings: readonly Crossing[], isWhole: boolean): Promise<ReplayEnd> {
  const gate = new ReplayGate(crossings, () => ({ arrive: () => true, note: () => {} }), { isWhole });
  gate.begin();
  void session(gate, () => Promise.reject(new Error('nothing is looked at in a replay'))).then(() => gate.finish());
  return await gate.ended;
}

it('a session that is killed while something goes past an open look is met again as far as it goes', async () => {
  const crossings = await recorded(({ kind }) => kind === 'end');
  expect(crossings).toMatchObject([
    { kind: 'arrived', what: 'timer', past: ['session/look'] },
    { kind: 'start', place: 'session/command' },
    { kind: 'end', place: 'session/command' },
  ]);
  expect(crossings.flatMap((crossing) => ('past' in crossing ? [crossing.kind] : []))).toEqual(['arrived']);
  expect(await replayed(crossings, false)).toEqual({ kind: 'cut-off', place: 'session/look' });
});

it('a session that goes on from there is the same to its end', async () => {
  const crossings = await recorded(() => false);
  expect(crossings.map(({ kind }) => kind)).toEqual(['arrived', 'start', 'end', 'settled', 'start', 'end']);
  expect(await replayed(crossings, true)).toEqual({ kind: 'same' });
});

it('a recording from before the mark is met again as it was', async () => {
  const crossings = (await recorded(() => false)).map((crossing) => {
    const { past: _past, ...rest } = crossing as Crossing & { past?: unknown };
    return rest;
  });
  expect(await replayed(crossings, true)).toEqual({ kind: 'same' });
});

it('a mark of a look that the session never has parts the replay', async () => {
  const crossings = await recorded(({ kind }) => kind === 'end');
  const forged = crossings.map((crossing) => {
    if (crossing.kind !== 'arrived') return crossing;
    return Object.assign({}, crossing, { past: ['session/look', 'session/other'] });
  });
  expect(await replayed(forged, false)).toEqual({
    kind: 'parted',
    parting: { place: 'session/other', port: 'look', problem: 'was not looked at again' },
  });
});
