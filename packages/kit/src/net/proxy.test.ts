import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import { proxyFor } from './proxy.ts';

const registry = new URL('https://registry.example.com/v1');
const direct = { host: 'proxy', port: 3128, authorization: null };

describe('the proxy for an address', () => {
  it.each([
    [{ HTTPS_PROXY: 'http://proxy:3128' }, direct],
    [{ https_proxy: 'http://proxy:3128', HTTPS_PROXY: 'http://other:1' }, direct],
    [{ ALL_PROXY: 'proxy:3128' }, direct],
    [{ HTTPS_PROXY: 'http://proxy:3128', ALL_PROXY: 'http://other:1' }, direct],
    [{ HTTPS_PROXY: 'http://proxy' }, { ...direct, port: 80 }],
    [{ HTTPS_PROXY: 'http://[::1]:3128' }, { ...direct, host: '::1' }],
    [{ HTTPS_PROXY: 'http://me:p%40ss@proxy:3128' }, { ...direct, authorization: 'Basic bWU6cEBzcw==' }],
    [{ HTTP_PROXY: 'http://proxy:3128' }, null],
    [{ HTTPS_PROXY: 'http://[fd00::1]' }, { ...direct, host: 'fd00::1', port: 80 }],
    [{ HTTPS_PROXY: '' }, null],
    [{}, null],
  ])('with %j comes out as %j', (env, proxy) => {
    expect(proxyFor(registry, env)).toEqual(proxy);
  });

  it.each([
    [{ HTTP_PROXY: 'http://proxy:3128' }, direct],
    [{ http_proxy: 'http://proxy:3128', HTTP_PROXY: 'http://other:1' }, direct],
    [{ ALL_PROXY: 'http://proxy:3128' }, direct],
    [{ HTTPS_PROXY: 'http://proxy:3128' }, null],
    [{ HTTP_PROXY: 'http://proxy:3128', NO_PROXY: 'example.com:80' }, null],
    [{ HTTP_PROXY: 'http://proxy:3128', NO_PROXY: 'example.com:443' }, direct],
  ])('for plain HTTP with %j comes out as %j', (env, proxy) => {
    expect(proxyFor(new URL('http://plain.example.com/x'), env)).toEqual(proxy);
  });

  it.each(['socks5://secret@proxy:1080', 'https://proxy', 'http://', '::'])('cannot be %s', (text) => {
    expect(() => proxyFor(registry, { ALL_PROXY: text })).toThrow('ALL_PROXY is no proxy that svc can use');
  });

  it.each(['http://bob:100%@proxy', 'http://b%ff@proxy', '%zz:secret@proxy'])(
    'cannot have a user or password as in %s, which it says without repeating them',
    (text) => {
      const found = diagnosticOf(() => proxyFor(registry, { HTTPS_PROXY: text }));
      expect(found).toMatchObject({
        code: 'E-REG-006',
        message: 'HTTPS_PROXY is no proxy that svc can use: its user or password has a % that stands for no character',
        hint: 'write %25 for a % that is part of the user or the password',
      });
    },
  );

  it.each([
    ['*', true],
    ['registry.example.com', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['other.com, Example.COM', true],
    ['other.com example.com:443', true],
    ['example.com:8443', false],
    ['ample.com', false],
    ['example.com.org', false],
    ['', false],
    [',', false],
  ])('with NO_PROXY %j does not apply: %s', (list, isDirect) => {
    const proxy = proxyFor(registry, { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: list });
    expect(proxy).toEqual(isDirect ? null : direct);
  });

  it.each([
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://[fd00::7]', 'fd00::/8', true],
    ['https://192.168.1.9', '192.168.1.1-192.168.1.10', true],
    ['https://192.168.1.11', '192.168.1.1-192.168.1.10', false],
    ['https://[fd00::7]', '[fd00::7]', true],
    ['https://[fd00::7]:8443', '[fd00::7]:8443', true],
    ['https://[fd00::7]', 'fd00::7', true],
    ['https://name.example.com', '10.0.0.0/8', false],
    ['https://10.1.2.3', '10.0.0.0/99', false],
    ['https://10.1.2.3', '10.0.0.9-10.0.0.1', false],
    ['https://10.1.2.3', '10.0.0.0-nowhere', false],
  ])('to %s with NO_PROXY %j is left out: %s', (address, list, isDirect) => {
    const proxy = proxyFor(new URL(address), { HTTPS_PROXY: 'http://proxy:3128', no_proxy: list });
    expect(proxy).toEqual(isDirect ? null : direct);
  });

  it.each(['http://127.0.0.1:7800', 'https://127.1.2.3', 'https://localhost:7800', 'https://[::1]:7800'])(
    'does not exist for this machine: %s',
    (address) => {
      expect(proxyFor(new URL(address), { HTTPS_PROXY: 'http://proxy:3128', ALL_PROXY: 'http://proxy:3128' })).toBe(
        null,
      );
    },
  );
});
