import { expect, it } from 'vitest';

import { RefusedHosts } from './refused-hosts.ts';

it('RefusedHosts tells each place that was refused or not reached once, at most five and the number of others, and forgets them', () => {
  const refused = new RefusedHosts();
  refused.add({ destination: 'a.example', verdict: 'allowed', reason: null });
  expect(refused.take()).toEqual([]);
  refused.add({ destination: 'b.example', verdict: 'failed', reason: 'b.example cannot be reached.' });
  expect(refused.take()).toEqual(['svc could not connect it: b.example cannot be reached.']);
  for (const host of ['c', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    refused.add({ destination: host, verdict: 'refused', reason: `${host} is not granted.` });
  expect(refused.take()).toEqual([
    ...['c', 'd', 'e', 'f', 'g'].map((host) => `svc did not let it connect: ${host} is not granted.`),
    '2 more places were refused or could not be reached',
  ]);
  refused.add({ destination: null, verdict: 'refused', reason: 'x'.repeat(10_000) });
  expect(refused.take()[0]).toHaveLength(329);
});
