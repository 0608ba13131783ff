/** Runs a task that fails so often that a race between what ended it and its report would show. */

import { describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { closedPort } from '../support/closed-port.ts';
import { asking, reasonsOf } from '../support/failed-runs.ts';

const capsule = useCapsules();

describe('a piped svc run tells on standard error that the task failed', () => {
  it('because nothing listens at the endpoint, in each of 20 runs', async () => {
    const endpoint = `http://127.0.0.1:${await closedPort()}`;
    const reasons = await reasonsOf(20, () => capsule({ files: asking(endpoint) }));
    expect(reasons).toEqual([`cannot reach ${endpoint}: connection refused`]);
  }, 120_000);
});
