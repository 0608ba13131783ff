import { expect, it } from 'vitest';

import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, order, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

interface Clocks {
  readonly wall: number;
  readonly monotonic: number;
}

it(
  "the host shows a guest still clocks while it is built, and this machine's in its calls",
  { timeout: compileTimeoutMs },
  async () => {
    const host = testHost(fixtureCache);
    try {
      const component = host.open(await fixtureComponent('clocks'), noGrants);
      const before = Date.now();
      const { loaded, called } = JSON.parse(await order(component, {})) as { loaded: Clocks; called: Clocks };
      expect(loaded).toEqual({ wall: Date.UTC(1980, 0, 1), monotonic: 0 });
      expect(called.wall).toBeGreaterThanOrEqual(before);
      expect(called.wall).toBeLessThanOrEqual(Date.now());
      expect(called.monotonic).toBeGreaterThan(0);
      await component.close();
    } finally {
      await host.close();
    }
  },
);
