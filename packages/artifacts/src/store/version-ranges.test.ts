import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inProcessorTime } from '../../../../test/support/processor-time.ts';
import { isVersionRange } from '../manifest/version-range.ts';
import { allows, compareVersions, compatibleRange, highest } from './version-ranges.ts';

describe('a range of versions', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['1.2.3', ['1.2.3'], ['1.2.4', '1.2.3-a', '1.2.2']],
    ['=1.2.3', ['1.2.3'], ['1.2.4']],
    ['^1.2.3', ['1.2.3', '1.9.0'], ['1.2.2', '2.0.0', '2.0.0-a', '1.3.0-a']],
    ['^0.2.3', ['0.2.3', '0.2.9'], ['0.3.0', '0.2.2', '1.0.0']],
    ['^0.0.3', ['0.0.3'], ['0.0.4', '0.1.0']],
    ['^1', ['1.0.0', '1.9.9'], ['0.9.9', '2.0.0']],
    ['~1.2.3', ['1.2.3', '1.2.9'], ['1.3.0', '1.2.2']],
    ['~1', ['1.0.0', '1.9.0'], ['2.0.0']],
    ['>=1.2.0 <2.0.0', ['1.2.0', '1.9.9'], ['1.1.9', '2.0.0', '2.0.0-a']],
    ['>1.2', ['1.3.0'], ['1.2.9', '1.2.0']],
    ['<=1.2', ['1.2.9', '0.1.0'], ['1.3.0']],
    ['1.x', ['1.0.0', '1.9.9'], ['2.0.0', '1.0.0-a']],
    ['1.2.*', ['1.2.0'], ['1.3.0']],
    ['1.2', ['1.2.0', '1.2.9', '1.2'], ['1.3.0']],
    ['*', ['0.0.0', '9.9.9'], ['1.0.0-a']],
    ['1.0.0 || 3.x', ['1.0.0', '3.1.0'], ['2.0.0', '1.0.1']],
    ['1.0.0-a || >=0', ['1.0.0-a', '2.0.0'], ['1.0.0-b', '2.0.0-a']],
    ['^1.2.3-beta.2', ['1.2.3-beta.2', '1.2.3-beta.11', '1.2.3', '1.3.0'], ['1.2.3-beta.1', '1.2.4-beta.9']],
    ['>=1.0.0', ['1.0.0+linux', '2.0.0'], ['1.0.0-rc.1']],
  ])('%s', (range, inside, outside) => {
    expect(isVersionRange(range)).toBe(true);
    expect(inside.filter((version) => !allows(range, version))).toEqual([]);
    expect(outside.filter((version) => allows(range, version))).toEqual([]);
  });

  it('allows a version that is no semantic one by itself alone', () => {
    for (const version of ['2024-05', 'v1.2.3', '1.2', '01.2.3', '1.2.3.4', 'nightly', '99999999999999999999.0.0']) {
      expect([allows(version, version), allows('*', version), allows('>=0.0.0', version)]).toEqual([
        true,
        false,
        false,
      ]);
    }
  });

  it('excludes any other text, and one that takes long to read', () => {
    const odd = [
      '',
      ' ',
      '1.2.3 - 2.0.0',
      'latest',
      '>>1',
      '1.2.3 ||',
      '|| 1',
      '^',
      '1..2',
      '~>1',
      '^v1.2.3',
      '1.2.3\n',
      '1 && 2',
    ];
    expect(odd.filter(isVersionRange)).toEqual([]);
    const pieces = [' 1', '1 ', '> ', '^1 ', '1 || ', '1.', 'x.', '1-', 'a-'];
    const { ms } = inProcessorTime(() => pieces.map((piece) => isVersionRange(`${piece.repeat(60)}!`)));
    expect(ms).toBeLessThan(500);
  });

  it('has one highest version, a final one before its pre-releases', () => {
    const versions = ['1.10.0', '1.9.0', '2.0.0-rc.1', '1.10.0-rc.2', 'nightly'];
    expect(highest('^1.0.0', versions)).toBe('1.10.0');
    expect(highest('^3.0.0', versions)).toBe(null);
    expect(highest('nightly', versions)).toBe('nightly');
    expect(highest('^1.0.0', ['1.0.0+b', '1.0.0+a'])).toBe('1.0.0+b');
    expect([compatibleRange('1.4.2'), compatibleRange('nightly'), compatibleRange('1.2')]).toEqual([
      '^1.4.2',
      null,
      null,
    ]);
  });
});

// An implementation of its own, from the rules in docs/cli.md "Ranges": numbers are compared one by one, and a range is intervals.

interface Parts {
  readonly numbers: readonly [number, number, number];
  readonly pre: readonly string[];
}

function partsOf(version: string): Parts {
  const [, a, b, c, pre = ''] = /^(\d+)\.(\d+)\.(\d+)(?:-([^+]*))?/.exec(version) ?? [];
  return { numbers: [Number(a), Number(b), Number(c)], pre: pre === '' ? [] : pre.split('.') };
}

function order(left: Parts, right: Parts): number {
  for (const index of [0, 1, 2] as const) {
    if (left.numbers[index] !== right.numbers[index]) return left.numbers[index] - right.numbers[index];
  }
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  for (let index = 0; index < Math.max(left.pre.length, right.pre.length); index += 1) {
    const [one, other] = [left.pre[index], right.pre[index]];
    if (one === undefined) return -1;
    if (other === undefined) return 1;
    if (one === other) continue;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
    if (isNumber && isOtherNumber) return Number(one) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return 0;
}

interface Wish {
  readonly operator: string;
  /** One to three numbers. */
  readonly numbers: readonly number[];
  /** Only with three numbers. */
  readonly pre: readonly string[];
}

const least: Parts = { numbers: [0, 0, 0], pre: [] };

/** From `low` on and below `high`, which stands for its own pre-releases too. */
function interval({ operator, numbers, pre }: Wish): (version: Parts) => boolean {
  const [a = 0, b = 0, c = 0] = numbers;
  const low: Parts = { numbers: [a, b, c], pre };
  const beyond = (index: number): Parts => {
    const next = [a, b, c].map((number, place) => (place < index ? number : place === index ? number + 1 : 0));
    return { numbers: [next[0] ?? 0, next[1] ?? 0, next[2] ?? 0], pre: ['0'] };
  };
  const from = (start: Parts) => (version: Parts) => order(version, start) >= 0;
  const until = (end: Parts) => (version: Parts) => order(version, end) < 0;
  const both = (one: (v: Parts) => boolean, other: (v: Parts) => boolean) => (v: Parts) => one(v) && other(v);
  const last = numbers.length - 1;
  switch (operator) {
    case '^': {
      const first = [a, b, c].slice(0, numbers.length).findIndex((number) => number > 0);
      return both(from(low), until(beyond(first === -1 ? last : first)));
    }
    case '~':
      return both(from(low), until(beyond(Math.min(1, last))));
    case '>=':
      return from(low);
    case '<':
      return numbers.length === 3 ? until(low) : until({ ...low, pre: ['0'] });
    case '>':
      return numbers.length === 3 ? (version) => order(version, low) > 0 : from({ ...beyond(last), pre: [] });
    case '<=':
      return numbers.length === 3 ? (version) => order(version, low) <= 0 : until(beyond(last));
    default:
      return numbers.length === 3 ? (version) => order(version, low) === 0 : both(from(low), until(beyond(last)));
  }
}

function allowsByRules(wishes: readonly (readonly Wish[])[], version: Parts): boolean {
  return wishes.some((all) => {
    if (!all.every((wish) => interval(wish)(version))) return false;
    if (version.pre.length === 0) return true;
    return all.some(
      ({ numbers, pre }) => pre.length > 0 && order({ ...version, pre: [] }, partsOf(numbers.join('.'))) === 0,
    );
  });
}

const small = fc.nat({ max: 3 });
const preRelease = fc.array(fc.constantFrom('0', '1', '2', '10', 'a', 'b', 'rc', 'a1'), { maxLength: 3 });
const versionParts = fc.record({ numbers: fc.tuple(small, small, small), pre: preRelease });
const wish: fc.Arbitrary<Wish> = fc
  .record({
    operator: fc.constantFrom('', '^', '~', '>=', '<=', '<', '>', '='),
    numbers: fc.array(small, { minLength: 1, maxLength: 3 }),
    pre: preRelease,
  })
  .map(({ operator, numbers, pre }) => ({ operator, numbers, pre: numbers.length === 3 ? pre : [] }));
const wishes = fc.array(fc.array(wish, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });

const spelled = ({ numbers, pre }: { numbers: readonly number[]; pre: readonly string[] }): string =>
  numbers.join('.') + (pre.length === 0 ? '' : `-${pre.join('.')}`);
const spelledWish = (made: Wish): string => `${made.operator}${spelled(made)}`;

describe('ranges and an implementation of their own rules', () => {
  it('allow the same versions', () => {
    fc.assert(
      fc.property(wishes, versionParts, (made, version) => {
        const range = made.map((all) => all.map(spelledWish).join(' ')).join(' || ');
        fc.pre(range.length <= 100);
        expect(isVersionRange(range)).toBe(true);
        expect(allows(range, spelled(version)), `${range} and ${spelled(version)}`).toBe(
          allowsByRules(made, version) || range === spelled(version),
        );
      }),
      { numRuns: 3000 },
    );
  });

  it('order versions alike, and that order is total', () => {
    fc.assert(
      fc.property(versionParts, versionParts, (one, other) => {
        const expected = Math.sign(order({ ...least, ...one }, { ...least, ...other }));
        expect(Math.sign(compareVersions(spelled(one), spelled(other)))).toBe(expected);
        expect(Math.sign(compareVersions(spelled(other), spelled(one)))).toBe(0 - expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('choose the highest allowed version, in whatever order they come', () => {
    fc.assert(
      fc.property(wishes, fc.array(versionParts, { maxLength: 12 }), (made, versions) => {
        const range = made.map((all) => all.map(spelledWish).join(' ')).join(' || ');
        fc.pre(range.length <= 100);
        const texts = versions.map(spelled);
        const best = highest(range, texts);
        expect(highest(range, texts.toReversed())).toBe(best);
        const allowed = versions.filter((version) => allows(range, spelled(version)));
        expect(best === null).toBe(allowed.length === 0);
        for (const version of allowed) expect(order(version, partsOf(best ?? ''))).toBeLessThanOrEqual(0);
      }),
      { numRuns: 1000 },
    );
  });
});
