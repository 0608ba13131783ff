import { describe, expect, it } from 'vitest';

import { parseDestination } from '@svc/kit/net/network-destination.ts';
import type { PushHost } from '../../core/door-core.ts';
import { PushRule } from './push-rule.ts';

function rule(...hosts: readonly (string | { readonly open: string })[]): PushRule {
  return new PushRule(
    hosts.map((host): PushHost => {
      const reading = parseDestination(typeof host === 'string' ? host : host.open);
      if (reading.kind === 'malformed') throw new Error(reading.reason);
      return { destination: reading.destination, isPrivate: typeof host !== 'string' };
    }),
  );
}

const hooks = rule('hooks.example.com', 'http://plain.example.com:8080', 'port.example.com:8443', {
  open: 'localhost',
});

function shown(given: PushRule, text: string): string {
  const url = given.urlOf(text);
  return typeof url === 'string' ? url : url.href;
}

describe('an address to push to', () => {
  it.each([
    'https://hooks.example.com/a?b=c',
    'https://hooks.example.com:8443/',
    'https://HOOKS.example.com/',
    'http://plain.example.com:8080/',
    'https://port.example.com:8443/',
    'http://localhost:4711/hook',
    'https://localhost/',
  ])('passes: %s', (text) => {
    expect(shown(hooks, text)).toBe(new URL(text).href);
  });

  it.each([
    ['https://other.example.com/', 'names a host that this agent does not push to'],
    ['https://hooks.example.com./', 'names a host that this agent does not push to'],
    ['https://sub.hooks.example.com/', 'names a host that this agent does not push to'],
    ['https://hooks.example.com.evil.example/', 'names a host that this agent does not push to'],
    ['https://port.example.com/', 'names a host that this agent does not push to'],
    ['https://plain.example.com:8080/', 'names a host that this agent does not push to'],
    ['http://plain.example.com/', 'names a host that this agent does not push to'],
    ['http://127.0.0.1/', 'names a host that this agent does not push to'],
    ['http://hooks.example.com/', 'must be https'],
    ['https://a:b@hooks.example.com/', 'must not hold a user or password'],
    ['https://hooks.example.com/#a', 'must not have a fragment'],
    ['ftp://hooks.example.com/', 'must be an https address'],
    ['//hooks.example.com/', 'must be an https address'],
    ['https:hooks.example.com', 'must be an https address'],
    ['https:\\\\hooks.example.com', 'must be an https address'],
    ['https://hooks.example.com\\@evil.example/', 'must be an https address'],
    ['https://evil.example\t@hooks.example.com/', 'must be an https address'],
    ['', 'must be an https address'],
    [`https://hooks.example.com/${'x'.repeat(2048)}`, 'must have at most 2048 characters'],
  ])('fails: %j, as it %s', (text, why) => {
    expect(shown(hooks, text)).toBe(why);
  });

  it.each([
    ['10.0.0.5', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.1', 'loopback'],
    ['2130706433', 'loopback'],
    ['0x7f000001', 'loopback'],
    ['0177.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['0', 'unspecified'],
    ['169.254.1.1', 'link-local'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['192.0.0.192', 'metadata'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['198.18.0.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['[::1]', 'loopback'],
    ['[::]', 'unspecified'],
    ['[::ffff:127.0.0.1]', 'loopback'],
    ['[::ffff:7f00:1]', 'loopback'],
    ['[::ffff:10.0.0.1]', 'private'],
    ['[::ffff:169.254.169.254]', 'metadata'],
    ['[64:ff9b::7f00:1]', 'loopback'],
    ['[64:ff9b::a9fe:a9fe]', 'metadata'],
    ['[2002:7f00:1::]', 'loopback'],
    ['[2002:a00:1::]', 'private'],
    ['[fc00::1]', 'private'],
    ['[fd12:3456::1]', 'private'],
    ['[fd00:ec2::254]', 'metadata'],
    ['[fd20:ce::254]', 'metadata'],
    ['[fe80::1]', 'link-local'],
    ['[febf::1]', 'link-local'],
    ['[ff02::1]', 'multicast'],
    ['[2001:db8::1]', 'documentation'],
    ['[3fff::1]', 'documentation'],
    ['[2001::1]', 'reserved'],
    ['[100::1]', 'reserved'],
    ['[::2]', 'reserved'],
    ['[4000::1]', 'reserved'],
    ['localhost', 'loopback'],
  ])('fails where it is not public, even by its name: %s (%s)', (host, kind) => {
    const address = new URL(`https://${host}/`).hostname;
    expect(shown(rule(address), `https://${host}/`)).toBe(`is at a ${kind} address, which this agent does not push to`);
    const isOpened = kind === 'private' || kind === 'loopback';
    expect(URL.canParse(shown(rule({ open: address }), `https://${host}/`))).toBe(isOpened);
  });

  it('counts by what its name resolves to', () => {
    const url = new URL('https://hooks.example.com/');
    expect(hooks.addressFault(url, '93.184.216.34')).toBeUndefined();
    expect(hooks.addressFault(url, '2606:4700::1111')).toBeUndefined();
    for (const address of ['10.0.0.1', '127.0.0.1', '::1', '169.254.169.254', 'fe80::1%eth0', 'nonsense']) {
      expect(hooks.addressFault(url, address)).toMatch(/^is at a .* address, which this agent does not push to$/);
    }
  });
});
