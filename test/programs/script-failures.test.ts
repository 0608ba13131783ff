import { describe, expect, it } from 'vitest';

import { scriptLineSchemas, type RunResult } from '@svc/svc/run/script/run-result.ts';
import { describePlainRuns, endOf, expectReason, failedRuns, toldReason } from './failing-runs.ts';

/** One of each way to an end. The others are in the long tests, since a result in JSON comes with the same words on standard error. */
const ofEachWay = [
  'the provider answers 503',
  'the model says nothing',
  'the program of the driver exits',
  'the ceiling of the manifest is too low',
  'the time is over',
  'the workdir grows too large',
  'the capsule asks something',
  'the task is empty',
  'the manifest lacks something',
  'SIGTERM ends it',
];

describePlainRuns(
  ofEachWay.map((way) => {
    const failure = failedRuns.find(({ name }) => name === way);
    if (failure === undefined) throw new Error(`no run fails so that ${way}`);
    return failure;
  }),
);

describe('svc -p --output json says why in its result too', () => {
  it.each(failedRuns)('when $name', { timeout: 60_000 }, async (failure) => {
    const { code, stdout, stderr } = await endOf(failure, ['--output', 'json']);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const result = scriptLineSchemas.result.parse(JSON.parse(stdout)) as RunResult;
    const { reason } = result;
    if (reason === null) throw new Error('there is no reason');
    expectReason(failure, reason);
    const told = toldReason(stderr);
    expect(told.code).toBe(reason.code);
    // On standard error it is one line.
    expect(told.message).toBe(reason.message.replaceAll(/\s*\n\s*/g, ' '));
    expect(result).toMatchObject({ answer: null, status: failure.status ?? 'failed', cost: null, files: null });
    if (failure.state !== undefined) expect(result.state).toBe(failure.state);
    expect(reason.retryable).toBe(failure.retryable);
    expect(code).toBe(failure.exit ?? 1);
  });
});
