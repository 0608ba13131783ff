import { expect, it } from 'vitest';

import type { FromWorker } from '../messages.ts';
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
