import { expect, it, onTestFinished, vi } from 'vitest';

import type { FromWorker, ToWorker } from '../messages.ts';
import { Session } from './session.ts';
import { View } from './view.ts';

const place = { kind: 'held', rows: '', lines: '', answers: '' } as const;

/** A view of a session whose worker the test plays. */
function viewed(): { readonly view: View; readonly told: ToWorker[]; readonly tell: (data: FromWorker) => void } {
  const told: ToWorker[] = [];
  const worker: ConstructorParameters<typeof Session>[0] = {
    onmessage: null,
    postMessage: (message) => void told.push(message),
    terminate: () => {},
  };
  const view = new View(new Session(worker, place));
  onTestFinished(() => view.close());
  return { view, told, tell: (data) => worker.onmessage?.({ data } as MessageEvent<FromWorker>) };
}

it('what was found is that of the words that are looked for, and of none before', async () => {
  const { view, told, tell } = viewed();
  view.query.value = 'one';
  await vi.waitFor(() => expect(told.at(-1)).toEqual({ kind: 'ask', id: 1, path: 'search/one' }));
  tell({ kind: 'answer', id: 1, value: [3, 5] });
  await vi.waitFor(() => expect([...view.found.value]).toEqual([3, 5]));
  view.query.value = 'two';
  expect([...view.found.value]).toEqual([]);
  await vi.waitFor(() => expect(told.at(-1)).toEqual({ kind: 'ask', id: 2, path: 'search/two' }));
  view.query.value = '';
  tell({ kind: 'answer', id: 2, value: [7] });
  await Promise.resolve();
  expect([...view.found.value]).toEqual([]);
});

it('a failed search stays on the page until the next one', async () => {
  const { view, told, tell } = viewed();
  view.query.value = 'one';
  await vi.waitFor(() => expect(told.at(-1)).toEqual({ kind: 'ask', id: 1, path: 'search/one' }));
  expect(view.hasSearchFailed.value).toBe(false);
  tell({ kind: 'fault', id: 1, message: 'no' });
  await vi.waitFor(() => expect(view.hasSearchFailed.value).toBe(true));
  view.query.value = 'on';
  expect(view.hasSearchFailed.value).toBe(false);
});
