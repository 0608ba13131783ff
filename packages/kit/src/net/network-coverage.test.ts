import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatDestination,
  parseDestination,
  type NetworkDestination,
  coveringEntries,
  covers,
  mayReach,
} from './network-destination.ts';

function destination(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(`${text} ${reading.reason}`);
  return reading.destination;
}

const coverage = [
  ['a.example', 'a.example', true],
  ['a.example', 'A.EXAMPLE', true],
  ['a.example', 'a.example:8080', true],
  ['a.example', 'http://a.example', true],
  ['a.example', 'https://a.example:8443', true],
  ['a.example', 'b.example', false],
  ['a.example', 'sub.a.example', false],
  ['a.example:8080', 'a.example:8080', true],
  ['a.example:8080', 'http://a.example:8080', true],
  ['a.example:8080', 'https://a.example:8080', true],
  ['a.example:8080', 'a.example', false],
  ['a.example:8080', 'a.example:8081', false],
  ['a.example:8080', 'https://a.example', false],
  ['a.example:443', 'https://a.example', true],
  ['a.example:80', 'http://a.example', true],
  ['a.example:80', 'https://a.example', false],
  ['https://a.example', 'https://a.example', true],
  ['https://a.example', 'https://a.example:443', true],
  ['https://a.example:443', 'https://a.example', true],
  ['https://a.example', 'http://a.example', false],
  ['https://a.example', 'a.example', false],
  ['https://a.example', 'a.example:443', false],
  ['https://a.example', 'https://a.example:8443', false],
] as const;

describe('network coverage', () => {
  it.each(coverage)('%s over %s is %s', (outer, inner, expected) => {
    expect(covers(destination(outer), destination(inner))).toBe(expected);
  });

  it.each([
    ['a.example', 'https://a.example/path?q', true],
    ['a.example', 'http://A.example:8080/', true],
    ['https://a.example', 'https://a.example:443/', true],
    ['https://a.example', 'http://a.example/', false],
    ['a.example', 'ws://a.example/', false],
    ['a.example', 'https://a.example.evil.example/', false],
    ['a.example', 'https://a.example@evil.example/', false],
    ['127.0.0.1', 'http://2130706433/', true],
    ['[::1]', 'http://[::1]:8080/', true],
  ])('an allow list of %s lets a request to %s out: %s', (allow, url, expected) => {
    expect(mayReach([destination(allow)], new URL(url))).toBe(expected);
  });

  it('lets nothing out without an entry', () => {
    expect(mayReach([], new URL('https://a.example/'))).toBe(false);
  });

  const anyDestination = fc
    .record({
      scheme: fc.constantFrom('', 'http://', 'https://'),
      host: fc.constantFrom('a.example', 'b.example', '[::1]'),
      port: fc.constantFrom('', ':80', ':443', ':8080'),
    })
    .map(({ scheme, host, port }) => destination(scheme + host + port));

  it('stays reflexive and transitive, and two entries that cover each other are one', () => {
    fc.assert(
      fc.property(anyDestination, anyDestination, anyDestination, (one, two, three) => {
        expect(covers(one, one)).toBe(true);
        if (covers(one, two) && covers(two, three)) expect(covers(one, three)).toBe(true);
        if (covers(one, two) && covers(two, one)) expect(formatDestination(one)).toBe(formatDestination(two));
      }),
    );
  });

  it('has the same answer by the spelling of the entries that cover one', () => {
    fc.assert(
      fc.property(anyDestination, anyDestination, (outer, inner) => {
        expect(coveringEntries(inner).includes(formatDestination(outer))).toBe(covers(outer, inner));
      }),
    );
  });

  it('never lets more out through a covered entry than through the one that covers it', () => {
    const url = fc
      .tuple(
        fc.constantFrom('http', 'https'),
        fc.constantFrom('a.example', 'b.example', '[::1]'),
        fc.constantFrom('', ':80', ':443', ':8080'),
      )
      .map(([scheme, host, port]) => new URL(`${scheme}://${host}${port}/`));
    fc.assert(
      fc.property(anyDestination, anyDestination, url, (outer, inner, target) => {
        const isWider = covers(outer, inner) && mayReach([inner], target) && !mayReach([outer], target);
        expect(isWider).toBe(false);
      }),
    );
  });
});
