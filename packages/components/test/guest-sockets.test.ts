import { afterAll, expect, it, vi } from 'vitest';

import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, order, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

vi.setConfig({ testTimeout: compileTimeoutMs });

const host = testHost(fixtureCache);
afterAll(async () => {
  await host.close();
});

it('a component that names sockets runs, and hears access-denied when it asks for one or looks up a name', async () => {
  const tool = host.open(await fixtureComponent('sockets'), noGrants);
  const refused = JSON.stringify({ tcp: 'access-denied', udp: 'access-denied', lookup: 'access-denied' });
  expect(await order(tool, {})).toBe(refused);
  expect(await order(tool, {})).toBe(refused);
});
