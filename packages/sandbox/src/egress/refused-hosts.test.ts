import { expect, it } from 'vitest';

import { RefusedHosts } from './refused-hosts.ts';

it('RefusedHosts tells each refused place once, at most five and the number of others, and forgets them', () => {
  const refused = new RefusedHosts();
  refused.add({ destination: 'a.example', verdict: 'allowed', reason: null });
  refused.add({ destination: 'b.example', verdict: 'failed', reason: 'b.example has no address.' });
  expect(refused.take()).toEqual([]);
  for (const host of ['c', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    refused.add({ destination: host, verdict: 'refused', reason: `${host} is not granted.` });
  expect(refused.take()).toEqual([
    ...['c', 'd', 'e', 'f', 'g'].map((host) => `svc did not let it connect: ${host} is not granted.`),
    'svc did not let it connect: 2 more refusals',
  ]);
  refused.add({ destination: null, verdict: 'refused', reason: 'x'.repeat(10_000) });
  expect(refused.take()[0]).toHaveLength(329);
});
