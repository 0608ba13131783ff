import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';

import { HttpServer } from '@svc/kit/http/server.ts';
import { bindListener } from './bind-listener.ts';

async function advertised(bind: string): Promise<string> {
  const server = new HttpServer({ routes: [], token: null, onBug: () => {} });
  try {
    const bound = await bindListener(server, { bind, internalPort: undefined, hasToken: true });
    return bound.advertised.replace(String(bound.port), '<port>');
  } finally {
    await server.close(0);
  }
}

describe('the address a capsule is reached at', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('becomes localhost for %s', async (bind) => {
    expect(await advertised(bind)).toBe('localhost:<port>');
  });

  it('stays [::1] for ::1, which localhost may not mean', async (context) => {
    const addresses = Object.values(networkInterfaces()).flat();
    context.skip(!addresses.some((each) => each?.address === '::1'), 'this machine has no ::1');
    expect(await advertised('::1')).toBe('[::1]:<port>');
  });
});
