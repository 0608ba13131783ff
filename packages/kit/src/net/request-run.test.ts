import { expect, it, onTestFinished } from 'vitest';

import { exchange, RequestRun } from './request-run.ts';

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

it('exchange gives a silent name server ten seconds', async () => {
  const asked = { url: new URL('https://host.invalid/'), method: 'GET', headers: {}, body: null, proxy: null } as const;
  // As that of a machine without a network, which tries its name servers for longer.
  const lookup = (): void => {};
  const end = AbortSignal.timeout(20_000);
  const answer = exchange({ ...asked, lookup, signal: end, onSent: () => {} });
  await expect(answer).rejects.toMatchObject({ code: 'ETIMEOUT' });
}, 30_000);
