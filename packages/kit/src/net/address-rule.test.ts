import { describe, expect, it } from 'vitest';
import { parseDestination, type NetworkDestination, isCovered } from './network-destination.ts';
import { addressFault, fixedAddresses } from './address-class.ts';

function destination(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(`${text} ${reading.reason}`);
  return reading.destination;
}

function fault(allow: readonly string[], target: string, address: string): string | undefined {
  const grants = allow.map(destination);
  return addressFault((inner) => isCovered(grants, inner), destination(target), address);
}

describe('a permitted host that resolves', () => {
  it.each(['93.184.216.34', '2606:4700::1111', '10.1.2.3', '192.168.1.1', '100.64.0.9', 'fd12::1', '64:ff9b::808:808'])(
    'can be reached at %s',
    (address) => {
      expect(fault(['a.example'], 'https://a.example', address)).toBeUndefined();
    },
  );

  it.each([
    ['127.0.0.1', 'resolves to 127.0.0.1 (loopback)'],
    ['::1', 'resolves to [::1] (loopback)'],
    ['::ffff:127.0.0.1', 'resolves to [::ffff:7f00:1] (loopback)'],
    ['169.254.169.254', 'resolves to 169.254.169.254 (metadata)'],
    ['64:ff9b::169.254.169.254', 'resolves to [64:ff9b::a9fe:a9fe] (metadata)'],
    ['2002:7f00:1::', 'resolves to [2002:7f00:1::] (loopback)'],
    ['fd00:ec2::254', 'resolves to [fd00:ec2::254] (metadata)'],
    ['fe80::1%eth0', 'resolves to something that is no address (link-local)'],
    ['0.0.0.0', 'resolves to 0.0.0.0 (unspecified)'],
    ['224.0.0.1', 'resolves to 224.0.0.1 (multicast)'],
    ['255.255.255.255', 'resolves to 255.255.255.255 (reserved)'],
    ['192.0.2.7', 'resolves to 192.0.2.7 (documentation)'],
    ['garbage', 'resolves to something that is no address (reserved)'],
  ])('fails at %s', (address, reason) => {
    expect(fault(['a.example'], 'https://a.example', address)).toBe(reason);
  });

  it.each(['10.1.2.3', '192.168.1.1', '100.64.0.9', 'fd12::1', '::ffff:10.1.2.3'])(
    'cannot be reached at %s where private networks are to be named too',
    (address) => {
      const named = (allow: readonly string[]): string | undefined =>
        addressFault(
          (inner) => isCovered(allow.map(destination), inner),
          destination('https://a.example'),
          address,
          false,
        );
      expect(named(['a.example'])).toContain('(private)');
      const host = address.includes(':') ? new URL(`http://[${address}]/`).hostname : address;
      expect(named(['a.example', host])).toBeUndefined();
    },
  );

  it.each([
    [['a.example', '127.0.0.1'], 'http://a.example', '127.0.0.1', true],
    [['a.example', '127.0.0.1:80'], 'http://a.example', '127.0.0.1', true],
    [['a.example', '127.0.0.1:81'], 'http://a.example', '127.0.0.1', false],
    [['a.example', 'https://127.0.0.1'], 'http://a.example', '127.0.0.1', false],
    [['a.example', '127.0.0.1'], 'http://a.example', '127.0.0.2', false],
    [['a.example', '127.0.0.1'], 'http://a.example', '::ffff:127.0.0.1', false],
    [['a.example', 'localhost'], 'http://a.example', '127.0.0.1', true],
    [['a.example', 'localhost'], 'http://a.example', '::1', true],
    [['a.example', 'localhost:81'], 'http://a.example', '::1', false],
    [['a.example', 'localhost'], 'http://a.example', '169.254.169.254', false],
    [['localhost'], 'http://localhost', '127.0.0.1', true],
    [['169.254.169.254'], 'http://169.254.169.254', '169.254.169.254', true],
    [['[fd00:ec2::254]'], 'http://[fd00:ec2::254]', 'fd00:ec2::254', true],
    [['[::1]'], 'http://[::1]:8080', '::1', true],
  ])('under %j gives, for %s at %s: %s', (allow, target, address, reached) => {
    expect(fault(allow, target, address) === undefined).toBe(reached);
  });
});

describe('the local addresses', () => {
  it.each([
    ['localhost', ['127.0.0.1', '::1']],
    ['127.0.0.1', ['127.0.0.1']],
    ['[::1]', ['::1']],
    ['a.example', undefined],
    ['a[::1]', undefined],
    ['[::1]a', undefined],
    ['sub.localhost', undefined],
  ])('for %s include %j', (host, addresses) => {
    expect(fixedAddresses(host)).toEqual(addresses);
  });
});
