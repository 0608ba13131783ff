import { expect, it, onTestFinished } from 'vitest';

import { RequestRun } from './request-run.ts';

/** What a run makes of an error with this code. */
function faultOf(code: string): { error: Error; fault: unknown } {
  const run = new RequestRun({ label: 'host', toSend: null, timeoutMs: 20_000, interruption: undefined });
  onTestFinished(() => run.end());
  const error = Object.assign(new TypeError('odd'), { code });
  return { error, fault: run.fault(error) };
}

it('RequestRun says why the network failed', () => {
  expect(faultOf('ECONNREFUSED').fault).toMatchObject({ code: 'E-IO-003', message: 'host: nothing listens there' });
});

it('RequestRun gives a bug back as it is, also one that has a code', () => {
  const { error, fault } = faultOf('ERR_INVALID_ARG_TYPE');
  expect(fault).toBe(error);
});
