import { expect, it } from 'vitest';

import { systemResolver } from './resolver.ts';

it('systemResolver answers the addresses of a name that the host knows', async () => {
  const resolution = await systemResolver.resolve('localhost');
  expect(resolution).toMatchObject({ kind: 'addresses', addresses: expect.arrayContaining(['127.0.0.1']) });
});

it('systemResolver answers that a name has no address, and never rejects', async () => {
  // Longer than a name can be, so that nobody is asked.
  const resolution = await systemResolver.resolve(`${'a'.repeat(300)}.invalid`);
  expect(resolution.kind).toBe('failed');
});
