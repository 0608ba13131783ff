import { isIP } from 'node:net';

import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import { lookupWithin, redirectTarget } from './redirect-rule.ts';
import type { HostResolver } from './resolver.ts';

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
  ])('from an https registry at %s to %s may go on: %s', (address, location, isFollowed) => {
    expect(followed(location, source(address))).toBe(isFollowed ? new URL(location).href : 'refused');
  });

  it.each(['https://user:secret@other.example/a?b=c', 'https://user@other.example/', 'https://:secret@1.1.1.1/'])(
    'to %s, with a user or a password, ends the request, and the error names neither',
    (location) => {
      const found = diagnosticOf(() => redirectTarget(location, source('8.8.8.8')));
      const { origin } = new URL(location);
      expect(found).toMatchObject({
        code: 'E-REG-027',
        message: `it redirects to ${origin}, with a user or password that it chose`,
      });
    },
  );

  it('from a registry on this machine without TLS may stay there', () => {
    const local = source('127.0.0.1', 'http://127.0.0.1:7800/v1');
    expect(followed('http://localhost:7801/a', local)).toBe('http://localhost:7801/a');
    expect(followed('/a', local)).toBe('http://127.0.0.1:7800/a');
    expect(followed('http://10.0.0.1/a', local)).toBe('refused');
  });

  it.each([
    ['8.8.8.8', ['1.1.1.1', '2606:4700::1'], null],
    ['8.8.8.8', ['1.1.1.1', '127.0.0.1'], '127.0.0.1, a loopback'],
    ['8.8.8.8', ['::ffff:10.0.0.1'], '::ffff:10.0.0.1, a private'],
    ['8.8.8.8', ['fe80::1%eth0'], 'fe80::1%eth0, a link-local'],
    ['8.8.8.8', ['2130706433'], '2130706433, a reserved'],
    ['10.0.0.1', ['10.0.0.2', '1.1.1.1'], null],
    ['10.0.0.1', ['169.254.169.254'], '169.254.169.254, a metadata'],
    ['127.0.0.1', ['127.0.0.1', '10.0.0.1'], null],
  ])('to %s depends on what a name resolves to: %j', async (from, addresses, refused) => {
    const resolver: HostResolver = { resolve: async () => ({ kind: 'addresses', addresses }) };
    const found = await new Promise((resolve) => {
      lookupWithin(source(from), 10_000, resolver)('a.test', { all: true }, (error, all) =>
        resolve(error?.message ?? all),
      );
    });
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    expect(found).toEqual(refused === null ? all : `it redirects to a.test, which is ${refused} address`);
  });

  it('to a name without an address says so, with one address where Node wants one', async () => {
    const unknown: HostResolver = { resolve: async () => ({ kind: 'failed', reason: 'EAI_AGAIN' }) };
    const look = async (host: string): Promise<unknown> =>
      await new Promise((resolve) => {
        lookupWithin(source('127.0.0.1'), 10_000, unknown)(host, {}, (error, found) => resolve(error?.code ?? found));
      });
    expect([await look('a.test'), await look('localhost')]).toEqual(['EAI_AGAIN', '127.0.0.1']);
  });
});
