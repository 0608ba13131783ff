import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { readSettings, type Settings, type SettingSources, parseBindAddress, renderAddress } from './settings.ts';

const key = 'sixteen-letters!';

function read(env: SettingSources['env'], flags: SettingSources['flags'] = {}): Settings {
  return readSettings({ flags, env: { REGISTRY_API_KEY: key, ...env }, home: '/home/me', cwd: '/work' });
}

describe('the settings of svc-registry', () => {
  it('default to a loopback address, a directory in the home and 512 MiB [D3-AUTH-06]', () => {
    const { bind, data, maxBytes, warnings, key: secret } = read({});
    expect(bind).toEqual({ address: '127.0.0.1', port: 7800 });
    expect([data, maxBytes, warnings, secret?.reveal()]).toEqual(['/home/me/.svc/registry', 536_870_912, [], key]);
  });

  it('come from variables, and from flags before them [D3-AUTH-06]', () => {
    const env = { REGISTRY_BIND: '[::]:80', REGISTRY_DATA: '/srv/a', REGISTRY_MAX_BYTES: '2Mi' };
    expect(read(env)).toMatchObject({ bind: { address: '::', port: 80 }, data: '/srv/a', maxBytes: 2_097_152 });
    expect(read(env, { data: 'b', maxBytes: '1000' })).toMatchObject({ data: '/work/b', maxBytes: 1_000 });
  });

  it('take an empty variable for an absent one', () => {
    const env = { REGISTRY_BIND: '', REGISTRY_DATA: '', REGISTRY_MAX_BYTES: '' };
    expect(read(env)).toMatchObject({ bind: { port: 7800 }, data: '/home/me/.svc/registry', maxBytes: 536_870_912 });
  });

  it.each(['0', '-1', '1.5', '1 Mi', 'Mi', '1e9', '99999999999999999999'])('take no size of %j', (size) => {
    expect(diagnosticOf(() => void read({ REGISTRY_MAX_BYTES: size }))?.code).toBe('E-REG-021');
  });

  it('warn of a key of 15 characters and not of one of 16', () => {
    expect(read({ REGISTRY_API_KEY: key.slice(1) }).warnings.map(({ code }) => code)).toEqual(['W-REG-001']);
    expect(read({}).warnings).toEqual([]);
  });

  it('warn of a size that no svc takes, and not of the largest that it does', () => {
    expect(read({}, { maxBytes: '512Mi' }).warnings).toEqual([]);
    const [warning, ...others] = read({}, { maxBytes: '600Mi' }).warnings;
    expect([warning?.code, warning?.message, others]).toEqual([
      'W-REG-003',
      'the largest archive is set to 629145600 bytes, but svc takes none above 512 MiB, nor one that unpacks to more than 500 MiB',
      [],
    ]);
  });
});

it.each([
  ['127.0.0.1:7800', '127.0.0.1', 7800],
  ['0.0.0.0:1', '0.0.0.0', 1],
  ['localhost:65535', 'localhost', 65_535],
  ['registry.internal', 'registry.internal', 7800],
  ['127.0.0.1:0', '127.0.0.1', 0],
  ['[::1]:80', '::1', 80],
  ['[::]', '::', 7800],
  ['[fe80::1%eth0]:80', 'fe80::1%eth0', 80],
])('parseBindAddress takes %s for an address', (text, address, port) => {
  expect(parseBindAddress(text)).toEqual({ address, port });
});

it.each([
  '',
  ':7800',
  '::1',
  '::1:7800',
  '[::1',
  '[::1]7800',
  '[127.0.0.1]:80',
  '[x]:80',
  'a:65536',
  'a:-1',
  'a:',
  'a:b',
  'a b:1',
  'a:1:2',
])('parseBindAddress does not take %j for an address', (text) => {
  expect(parseBindAddress(text)).toBe(null);
});

it('renderAddress writes an address as a URL has it', () => {
  expect(renderAddress({ address: '::1', port: 80 })).toBe('[::1]:80');
  expect(renderAddress({ address: '127.0.0.1', port: 80 })).toBe('127.0.0.1:80');
});
