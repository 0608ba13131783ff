import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { formatDestination, parseDestination } from './network-destination.ts';

describe('a network destination', () => {
  it.each([
    ['example.com', { scheme: null, host: 'example.com', port: null }],
    ['EXAMPLE.com', { scheme: null, host: 'example.com', port: null }],
    ['example.com:8080', { scheme: null, host: 'example.com', port: 8080 }],
    ['http://example.com', { scheme: 'http', host: 'example.com', port: 80 }],
    ['https://example.com', { scheme: 'https', host: 'example.com', port: 443 }],
    ['HTTPS://Example.com:443', { scheme: 'https', host: 'example.com', port: 443 }],
    ['https://example.com:8443', { scheme: 'https', host: 'example.com', port: 8443 }],
    ['localhost:3000', { scheme: null, host: 'localhost', port: 3000 }],
    ['my_service', { scheme: null, host: 'my_service', port: null }],
    ['127.1', { scheme: null, host: '127.0.0.1', port: null }],
    ['[::1]', { scheme: null, host: '[::1]', port: null }],
    ['[0:0:0:0:0:0:0:1]:80', { scheme: null, host: '[::1]', port: 80 }],
    ['http://[2001:DB8::1]:8080', { scheme: 'http', host: '[2001:db8::1]', port: 8080 }],
    ['bücher.example', { scheme: null, host: 'xn--bcher-kva.example', port: null }],
  ])('%s is read', (text, destination) => {
    expect(parseDestination(text)).toEqual({ kind: 'destination', destination });
  });

  it.each([
    ['', 'is empty'],
    ['https://', 'is empty'],
    ['https://example.com/', 'has a path'],
    ['example.com/path', 'has a path'],
    ['example.com\\path', 'has a path'],
    ['example.com?q', 'has a query'],
    ['example.com#f', 'has a fragment'],
    ['user@example.com', 'has a user part'],
    ['https://user:pw@example.com', 'has a user part'],
    ['*.example.com', 'has a wildcard, name each host'],
    ['ftp://example.com', 'has a scheme that is not http or https'],
    ['//example.com', 'has a path'],
    ['::1', 'is not a host with an optional port'],
    ['[::1', 'is not a host with an optional port'],
    ['example.com:', 'is not a host with an optional port'],
    ['example.com:0', 'is not a host with an optional port'],
    ['example.com:080', 'is not a host with an optional port'],
    ['example.com:http', 'is not a host with an optional port'],
    ['example.com:65536', 'has a port above 65535'],
    ['example.com.', 'does not name a host'],
    ['exa mple.com', 'does not name a host'],
    ['-a.example', 'does not name a host'],
    ['[::g]', 'is not a host with an optional port'],
    ['[fe80::1%eth0]', 'does not name a host'],
    ['[1:2]', 'does not name a host'],
    ['256.256.256.256', 'does not name a host'],
    ['exa%6Dple.com', 'does not name a host'],
    ['a\tb', 'does not name a host'],
    ['x'.repeat(400), 'is too long'],
  ])('%j is malformed: %s', (text, reason) => {
    expect(parseDestination(text)).toEqual({ kind: 'malformed', reason });
  });

  it('reads back as itself from its shortest spelling', () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
    );
    const port = fc.option(fc.integer({ min: 1, max: 65_535 }));
    fc.assert(
      fc.property(fc.constantFrom('', 'http://', 'https://'), host, port, (scheme, name, number) => {
        const reading = parseDestination(`${scheme}${name}${number === null ? '' : `:${number}`}`);
        if (reading.kind === 'malformed') throw new Error(reading.reason);
        expect(parseDestination(formatDestination(reading.destination))).toEqual(reading);
      }),
    );
  });

  it('throws only its own kind of error, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(['destination', 'malformed']).toContain(parseDestination(text).kind);
      }),
    );
  });
});
