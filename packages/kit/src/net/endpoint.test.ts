import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { classifyAddress } from './address-class.ts';
import { endpointFault } from './endpoint.ts';

describe('an endpoint', () => {
  it.each([
    'https://provider.example',
    'https://provider.example:8443/base/path',
    'http://localhost:11434',
    'http://127.0.0.1:8080',
    'http://127.9.9.9',
    'http://[::1]:8080',
  ])('may be %s', (endpoint) => {
    expect(endpointFault(endpoint)).toBeUndefined();
  });

  it.each([
    ['http://provider.example', 'must be https, or http to a loopback address'],
    ['http://127.0.0.1.example.com', 'must be https, or http to a loopback address'],
    ['http://localhost.example.com', 'must be https, or http to a loopback address'],
    ['http://10.0.0.1', 'must be https, or http to a loopback address'],
    ['https://user:password@provider.example', 'must not hold a user or password'],
    ['http://localhost@provider.example', 'must not hold a user or password'],
    ['https://provider.example?key=1', 'must not have a query or fragment'],
    ['https://provider.example#x', 'must not have a query or fragment'],
    ['ftp://provider.example', 'must be an http or https address'],
    ['provider.example', 'must be an http or https address'],
    ['https://', 'must be an http or https address'],
    ['https:///x', 'must be an http or https address'],
    ['https://provider.example\\@evil.example', 'must be an http or https address'],
    ['https://provider\t.example', 'must be an http or https address'],
    ['', 'must be an http or https address'],
  ])('may not be %s: %s', (endpoint, fault) => {
    expect(endpointFault(endpoint)).toBe(fault);
  });

  it('may be http to a private address in digits only where that is allowed', () => {
    expect(endpointFault('http://10.0.0.1:8000', true)).toBeUndefined();
    for (const elsewhere of [
      '8.8.8.8',
      '169.254.169.254',
      '100.100.100.200',
      '[fd00:ec2::254]',
      'gpu.lan',
      '10.0.0.example',
    ])
      expect(endpointFault(`http://${elsewhere}`, true)).toBe('must be https, or http to a private address in digits');
    const near = fc.tuple(
      fc.constantFrom(10, 100, 127, 169, 172, 192),
      fc.constantFrom(15, 16, 31, 32, 63, 64, 100, 127, 128, 168, 254),
    );
    const parts = fc
      .tuple(near, fc.nat(255), fc.nat(255))
      .map(([[one, two], three, four]) => `${one}.${two}.${three}.${four}`);
    const addresses = fc.oneof(
      parts,
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom('fd00::1', 'fc00::1', 'fe80::1', '100.100.100.200'),
    );
    fc.assert(
      fc.property(addresses, (address) => {
        const isV6 = address.includes(':');
        const { hostname } = new URL(`http://${isV6 ? `[${address}]` : address}`);
        const known = classifyAddress(hostname.replace(/^\[|\]$/g, ''));
        const isAllowed = endpointFault(`http://${hostname}`, true) === undefined;
        // An address within another one is not in its own digits.
        expect(isAllowed).toBe(known === 'loopback' || (known === 'private' && !/^\[(?!f[cd])/.test(hostname)));
      }),
    );
  });
});
