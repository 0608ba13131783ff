import { expect, it } from 'vitest';

import { RefereeClient } from '@svc/client/referee-client.ts';
import { TestReferee } from './referee-kit.ts';

it('a client registers, spawns, asks and ends', async () => {
  const referee = await TestReferee.open({ maxDepth: 1 });
  const { sha256 } = referee.registry.publish('worker');
  referee.registry.publish('lead', { spawnAllow: ['worker'] });
  const client = new RefereeClient({ url: `http://127.0.0.1:${referee.port}/` });
  await client.health();
  const lead = { name: 'lead', version: '1.0.0' };
  const worker = { name: 'worker', version: '1.0.0' };
  const credential = await client.register({ sessionId: 'ses_lead', ...lead });
  const grant = await client.spawn(worker, { credential });
  expect(grant).toMatchObject({ ...worker, sha256, expiresAtMs: 1_760_000_060_000 });
  const own = await client.register({ sessionId: 'ses_child', ...worker }, { approval: grant.approval });
  expect(await client.status('ses_lead')).toEqual({
    status: 'running',
    depthRemaining: 1,
    liveChildren: 1,
    liveCapsules: 2,
  });
  await client.deregister({ outcome: 'failed', child: undefined }, { credential: own });
  await client.deregister({ outcome: 'complete', child: undefined }, { credential });
  expect((await client.status('ses_child'))?.status).toBe('failed');
  expect(await client.status('ses_none')).toBeNull();
  const refused = client.register({ sessionId: 'ses_2', ...worker });
  await expect(refused).rejects.toMatchObject({
    code: 'refused',
    status: 403,
    refusal: expect.stringContaining('worker'),
  });
});
