import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { classifyAddress } from './address-class.ts';

const classes = [
  ['8.8.8.8', 'public'],
  ['1.1.1.1', 'public'],
  ['9.255.255.255', 'public'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['11.0.0.0', 'public'],
  ['172.15.255.255', 'public'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.0', 'public'],
  ['192.167.255.255', 'public'],
  ['192.168.0.1', 'private'],
  ['192.169.0.0', 'public'],
  ['100.63.255.255', 'public'],
  ['100.64.0.0', 'private'],
  ['100.127.255.255', 'private'],
  ['100.128.0.0', 'public'],
  ['126.255.255.255', 'public'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['128.0.0.0', 'public'],
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['1.0.0.0', 'public'],
  ['169.253.255.255', 'public'],
  ['169.254.0.1', 'link-local'],
  ['169.254.255.255', 'link-local'],
  ['169.255.0.0', 'public'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['100.100.100.200', 'metadata'],
  ['168.63.129.16', 'metadata'],
  ['192.0.0.192', 'metadata'],
  ['192.0.0.1', 'reserved'],
  ['192.0.1.0', 'public'],
  ['192.0.2.1', 'documentation'],
  ['198.51.100.255', 'documentation'],
  ['203.0.113.1', 'documentation'],
  ['192.88.99.1', 'reserved'],
  ['198.17.255.255', 'public'],
  ['198.18.0.0', 'reserved'],
  ['198.19.255.255', 'reserved'],
  ['223.255.255.255', 'public'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['2606:4700::1111', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::2', 'reserved'],
  ['::7f00:1', 'reserved'],
  ['fc00::1', 'private'],
  ['fdff:ffff::1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['fd00:42::42', 'metadata'],
  ['fe00::1', 'reserved'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['2606:4700::1111%eth0', 'link-local'],
  ['fec0::1', 'reserved'],
  ['ff02::1', 'multicast'],
  ['2001:db8::1', 'documentation'],
  ['3fff::1', 'documentation'],
  ['2001::1', 'reserved'],
  ['2001:200::1', 'public'],
  ['100::1', 'reserved'],
  ['5f00::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['64:ff9b:1::a00:1', 'reserved'],
  ['::ffff:8.8.8.8', 'public'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::ffff:10.0.0.1', 'private'],
  ['::ffff:169.254.169.254', 'metadata'],
  ['::ffff:0.0.0.0', 'unspecified'],
  ['64:ff9b::8.8.8.8', 'public'],
  ['64:ff9b::127.0.0.1', 'loopback'],
  ['64:ff9b::a9fe:a9fe', 'metadata'],
  ['64:ff9b::a00:1', 'private'],
  ['2002:808:808::1', 'public'],
  ['2002:7f00:1::', 'loopback'],
  ['2002:7f12:3456:1::9', 'loopback'],
  ['2002:a9fe:a9fe::1', 'metadata'],
  ['2002:e000:1::1', 'multicast'],
  ['', 'reserved'],
  ['localhost', 'reserved'],
  ['127.1', 'reserved'],
  ['[::1]', 'reserved'],
] as const;

describe('the class of an address', () => {
  it.each(classes)('%s is %s', (address, expected) => {
    expect(classifyAddress(address)).toBe(expected);
  });

  it('stays the same for an IPv4 address and every IPv6 address that holds it', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), fc.integer({ min: 0, max: 65_535 }), ([a, b, c, d], tail) => {
        const plain = [a, b, c, d].join('.');
        const words = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const held = [`::ffff:${plain}`, `64:ff9b::${words}`, `2002:${words}::${tail.toString(16)}`];
        expect(held.map(classifyAddress)).toEqual(held.map(() => classifyAddress(plain)));
      }),
    );
  });
});
