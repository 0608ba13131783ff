import { describe, expect, it } from 'vitest';

import { networkVariables } from './contained-environment.ts';

const networkAllow = [{ scheme: null, host: 'example.com', port: null }] as const;

describe('the network variables of a contained process', () => {
  it('name the proxy where it is the only way out', () => {
    expect(networkVariables({ networkAllow }, 'sealed')).toEqual({
      HTTP_PROXY: 'http://127.0.0.1:3128',
      HTTPS_PROXY: 'http://127.0.0.1:3128',
      ALL_PROXY: 'http://127.0.0.1:3128',
      http_proxy: 'http://127.0.0.1:3128',
      https_proxy: 'http://127.0.0.1:3128',
      all_proxy: 'http://127.0.0.1:3128',
    });
  });

  it('lead past the proxy to servers of the command itself, where hosts are asked about and none of this machine is granted', () => {
    const own = { NO_PROXY: 'localhost,127.0.0.1,::1', no_proxy: 'localhost,127.0.0.1,::1' };
    const ofThisMachine = [{ scheme: null, host: 'localhost', port: 11434 }] as const;
    expect(networkVariables({ networkAllow, asksHosts: true }, 'sealed')).toMatchObject(own);
    expect(networkVariables({ networkAllow: [], asksHosts: true }, 'sealed')).toMatchObject(own);
    expect(networkVariables({ networkAllow: ofThisMachine, asksHosts: true }, 'sealed')).not.toHaveProperty('NO_PROXY');
  });

  it('have names looked up over TCP where the list is not enforced', () => {
    expect(networkVariables({ networkAllow }, 'scoped')).toEqual({ RES_OPTIONS: 'use-vc' });
    expect(networkVariables({ networkAllow }, 'advisory')).toEqual({ RES_OPTIONS: 'use-vc' });
  });

  it('do not exist without a network', () => {
    expect(networkVariables({ networkAllow: [] }, 'sealed')).toEqual({});
    expect(networkVariables({ networkAllow: [] }, 'scoped')).toEqual({});
  });
});
