import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import { lookupWithin, redirectTarget } from './redirect-rule.ts';

const source = (address: string | null, url = 'https://registry.example/v1'): Parameters<typeof lookupWithin>[0] => ({
  label: 'it',
  url: new URL(url),
  address,
});

/** Where the redirect leads; `refused` where it may not. */
function followed(location: string, from: ReturnType<typeof source>): string {
  let target = 'refused';
  diagnosticOf(() => (target = redirectTarget(location, from).href));
  return target;
}

describe('a redirect', () => {
  it.each([
    ['8.8.8.8', 'https://1.1.1.1/a', true],
    ['8.8.8.8', 'https://other.example/a', true],
    ['8.8.8.8', 'https://10.0.0.1/a', false],
    ['8.8.8.8', 'https://127.0.0.1/a', false],
    ['8.8.8.8', 'https://[::1]/a', false],
    ['8.8.8.8', 'https://0x7f000001/a', false],
    ['8.8.8.8', 'https://a.localhost/', false],
    ['10.0.0.1', 'https://10.0.0.2/a', true],
    ['10.0.0.1', 'https://127.0.0.1/a', false],
    ['10.0.0.1', 'https://169.254.169.254/a', false],
    ['127.0.0.1', 'https://127.0.0.1/a', true],
    ['::1', 'https://10.0.0.2/a', true],
    [null, 'https://10.0.0.2/a', false],
    [null, 'https://other.example/a', true],
    ['127.0.0.1', 'http://127.0.0.1/a', false],
  ])('of an https registry at %s to %s is followed: %s', (address, location, isFollowed) => {
    expect(followed(location, source(address))).toBe(isFollowed ? new URL(location).href : 'refused');
  });

  it('of a registry on this machine without TLS may stay there', () => {
    const local = source('127.0.0.1', 'http://127.0.0.1:7800/v1');
    expect(followed('http://localhost:7801/a', local)).toBe('http://localhost:7801/a');
    expect(followed('/a', local)).toBe('http://127.0.0.1:7800/a');
    expect(followed('http://10.0.0.1/a', local)).toBe('refused');
  });

  it('is judged by what a name resolves to', async () => {
    const resolved = async (address: string): Promise<string> =>
      await new Promise((resolve) => {
        lookupWithin(source(address))('localhost', {}, (error, found) =>
          resolve(error?.message ?? JSON.stringify(found)),
        );
      });
    expect(await resolved('8.8.8.8')).toMatch(
      /^it redirects to localhost, which is (127\.0\.0\.1|::1), a loopback address$/,
    );
    expect(await resolved('127.0.0.1')).toMatch(/^"(127\.0\.0\.1|::1)"$/);
  });
});
