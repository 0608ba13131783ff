import { describe, expect, it } from 'vitest';

import { HttpClient } from '@svc/kit/net/http-client.ts';
import { lazySources } from '../../src/command/project.ts';
import { temporaryDirectory } from '../../../artifacts/test/store/artifacts.ts';

const place = 'oci://registry.example.com/acme/echo';

describe('the place that svc.lock names', () => {
  it.each<[string, { flag?: string; env?: Record<string, string> }, string[]]>([
    ['is asked where no registry is named', {}, [place]],
    ['is not asked with --registry local', { flag: 'local' }, []],
    ['is not asked with SVC_REGISTRY_URL=local', { env: { SVC_REGISTRY_URL: 'local' } }, []],
  ])('%s', async (_, { flag, env = {} }, asked) => {
    const home = temporaryDirectory();
    const { signal } = new AbortController();
    const sources = lazySources({ flag, env, home, http: new HttpClient(), signal, onWarning: () => {} });
    expect(await sources()).toEqual([]);
    expect((await sources(place, 'lock')).map(({ name }) => name)).toEqual(asked);
    // What the manifest names is the word of the operator, too.
    expect((await sources(place)).map(({ name }) => name)).toEqual([place]);
  });
});
