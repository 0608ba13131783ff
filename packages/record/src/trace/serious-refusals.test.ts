import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { SeriousRefusals } from './serious-refusals.ts';

function host(name: string, rule = 'capabilities.network.allow'): Parameters<SeriousRefusals['of']>[0] {
  return { what: 'host', name, rule };
}

describe('a session that refuses', () => {
  it.each([
    ['169.254.169.254:80', 'metadata'],
    ['[fd00:ec2::254]:80', 'metadata'],
    ['100.100.100.200:443', 'metadata'],
    ['metadata.google.internal:80', 'metadata'],
    ['127.0.0.1:80', null],
    ['metadata.example:80', null],
  ])('counts %s as %s', (name, serious) => {
    expect(new SeriousRefusals(new FakeClock()).of(host(name))).toBe(serious);
  });

  it('counts a host as serious that has led to such an address, whatever its name', () => {
    const refusals = new SeriousRefusals(new FakeClock());
    expect(refusals.of({ ...host('a.example:80'), isMetadata: false })).toBe(null);
    expect(refusals.of({ ...host('a.example:80'), isMetadata: true })).toBe('metadata');
  });

  it('counts what a credential refuses as serious, and no file with such a name', () => {
    const refusals = new SeriousRefusals(new FakeClock());
    expect(refusals.of({ what: 'file', name: 'x:1', rule: 'capabilities.credentials.github' })).toBe(null);
    expect(refusals.of(host('a.example:443', 'capabilities.credentials.github'))).toBe('credential');
  });

  it('says each kind once a minute, however many there are', () => {
    const clock = new FakeClock();
    const refusals = new SeriousRefusals(clock);
    const metadata = host('169.254.169.254:80');
    const said = Array.from({ length: 1000 }, () => refusals.of(metadata)).filter((serious) => serious !== null);
    expect(said).toEqual(['metadata', 'many']);
    clock.advance(59_999);
    expect(refusals.of(metadata)).toBe(null);
    clock.advance(1);
    expect(refusals.of(metadata)).toBe('metadata');
  });

  it('says the tenth within a minute, and not the tenth of an hour', () => {
    const clock = new FakeClock();
    const refusals = new SeriousRefusals(clock);
    const file = { what: 'file', name: 'secret', rule: 'access' } as const;
    const slow = Array.from({ length: 20 }, () => {
      clock.advance(10_000);
      return refusals.of(file);
    });
    expect(slow.filter((serious) => serious !== null)).toEqual([]);
    const fast = Array.from({ length: 10 }, () => refusals.of(file));
    expect(fast.filter((serious) => serious !== null)).toEqual(['many']);
  });
});
