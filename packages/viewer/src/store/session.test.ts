import { expect, it } from 'vitest';

import type { FromWorker, ToWorker } from '../messages.ts';
import { Session, type WorkerPort } from './session.ts';

const place = { kind: 'held', rows: '', lines: '', answers: '' } as const;

it('the rows of a session are not waited for once their trace cannot be read', () => {
  const worker: WorkerPort = { onmessage: null, postMessage: () => {}, terminate: () => {} };
  const session = new Session(worker, place);
  const tell = (data: FromWorker): void => worker.onmessage?.({ data } as MessageEvent<FromWorker>);
  expect(session.whyEmpty('none')).toBe('Reading the trace…');
  tell({ kind: 'lost', why: 'It is gone.' });
  expect(session.whyEmpty('none')).toBe('It is gone.');
  const other = new Session(worker, place);
  tell({ kind: 'whole' });
  expect(other.whyEmpty('none')).toBe('none');
});

it('what is asked about an id that is no whole text is answered as any other', async () => {
  const told: ToWorker[] = [];
  const worker: WorkerPort = {
    onmessage: null,
    postMessage: (message) => void told.push(message),
    terminate: () => {},
  };
  const session = new Session(worker, place);
  const result = session.ask('result', 'tsk_\ud800');
  expect(told.at(-1)).toEqual({ kind: 'ask', id: 1, path: 'result/tsk_%EF%BF%BD' });
  const value = { kind: 'none', why: 'There is none.' };
  worker.onmessage?.({ data: { kind: 'answer', id: 1, value } } as MessageEvent<FromWorker>);
  expect(await result).toEqual(value);
});
