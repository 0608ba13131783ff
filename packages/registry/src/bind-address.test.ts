import { expect, it } from 'vitest';

import { parseBindAddress, renderAddress } from './bind-address.ts';

it.each([
  ['127.0.0.1:7800', '127.0.0.1', 7800],
  ['0.0.0.0:1', '0.0.0.0', 1],
  ['localhost:65535', 'localhost', 65_535],
  ['registry.internal', 'registry.internal', 7800],
  ['127.0.0.1:0', '127.0.0.1', 0],
  ['[::1]:80', '::1', 80],
  ['[::]', '::', 7800],
  ['[fe80::1%eth0]:80', 'fe80::1%eth0', 80],
])('takes %s for an address', (text, address, port) => {
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
])('does not take %j for one', (text) => {
  expect(parseBindAddress(text)).toBe(null);
});

it('is written as a URL has it', () => {
  expect(renderAddress({ address: '::1', port: 80 })).toBe('[::1]:80');
  expect(renderAddress({ address: '127.0.0.1', port: 80 })).toBe('127.0.0.1:80');
});
