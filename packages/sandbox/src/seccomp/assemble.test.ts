import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filterFault, simulate } from '../../test/seccomp-simulator.ts';
import { assemble } from './assemble.ts';
import type { SyscallPolicy, Rule, Verdict } from './policy.ts';

const audit = { x86_64: 0xc000003e, aarch64: 0xc00000b7 } as const;
const errnoOf = { EPERM: 1, EINVAL: 22, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;

const answerOf = (verdict: Verdict) => (verdict === 'allow' || verdict === 'kill' ? verdict : errnoOf[verdict]);

/** What a rule says, worked out from the rule itself. */
function judge(rule: Rule, args: readonly bigint[]): Verdict {
  if (typeof rule === 'string') return rule;
  const bits = Number((args[rule.argument] ?? 0n) & BigInt(rule.mask) & 0xffff_ffffn);
  return judge(rule.values.includes(bits) ? rule.yes : rule.no, args);
}

const policyOf = (rules: Record<number, Rule>, architecture: SyscallPolicy['architecture'] = 'x86_64') => ({
  architecture,
  rules: new Map(Object.entries(rules).map(([number, rule]): [number, Rule] => [Number(number), rule])),
});

const verdictAt = (filter: Buffer, number: number, args: readonly bigint[] = []) =>
  simulate(filter, { number, audit: audit.x86_64, args }).verdict;

describe('an assembled filter', () => {
  it('has this program for two calls, one of them allowed', () => {
    const filter = assemble(policyOf({ 0: 'allow', 1: 'EPERM' }));
    const words = Array.from({ length: filter.length / 8 }, (_, at) => [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ]);
    expect(words).toEqual([
      [0x20, 0, 0, 4],
      [0x15, 0, 7, 0xc000003e],
      [0x20, 0, 0, 0],
      [0x35, 5, 0, 0x40000000],
      [0x35, 0, 2, 1],
      [0x35, 2, 0, 2],
      [0x06, 0, 0, 0x00050001],
      [0x06, 0, 0, 0x7fff0000],
      [0x06, 0, 0, 0x00050026],
      [0x06, 0, 0, 0x80000000],
    ]);
  });

  it('ends a process that uses the numbers of another architecture, and answers ENOSYS to an unknown one', () => {
    const arm = assemble(policyOf({ 3: 'allow' }, 'aarch64'));
    const at = (number: number, arch: number) => simulate(arm, { number, audit: arch }).verdict;
    expect([at(3, audit.aarch64), at(3, audit.x86_64), at(3, 0x40000028)]).toEqual(['allow', 'kill', 'kill']);
    expect([at(2, audit.aarch64), at(4, audit.aarch64), at(0x40000003, audit.aarch64)]).toEqual([38, 38, 38]);
  });

  it('looks at the low 32 bits of an argument, with the mask applied', () => {
    const filter = assemble(
      policyOf({ 7: { argument: 5, mask: 0xf0, values: [0x10, 0x30], yes: 'allow', no: 'EPERM' } }),
    );
    const at = (argument: bigint) => verdictAt(filter, 7, [0n, 0n, 0n, 0n, 0n, argument]);
    expect([0x10n, 0x1fn, 0x30n, 0xf00n + 0x10n, 0xdead_0000_0010n].map(at)).toEqual(
      Array.from({ length: 5 }, () => 'allow'),
    );
    expect([0n, 0x20n, 0x40n, 0x50n, 0x10_0000_0000n].map(at)).toEqual([1, 1, 1, 1, 1]);
  });

  it.each([
    [0, ['allow', 1, 1, 1]],
    [1, [1, 'allow', 1, 1]],
    [0xfffffffe, [1, 1, 'allow', 1]],
    [0xffffffff, [1, 1, 1, 'allow']],
  ])('knows %i from its neighbours', (value, verdicts) => {
    const filter = assemble(
      policyOf({ 0: { argument: 0, mask: 0xffffffff, values: [value], yes: 'allow', no: 'EPERM' } }),
    );
    expect([0n, 1n, 0xfffffffen, 0xffffffffn].map((argument) => verdictAt(filter, 0, [argument]))).toEqual(verdicts);
  });

  it('tests an argument that is loaded already without loading it again', () => {
    const once = assemble(policyOf({ 0: { argument: 0, mask: 0xffffffff, values: [5], yes: 'allow', no: 'EPERM' } }));
    const twice = assemble(
      policyOf({
        0: {
          argument: 0,
          mask: 0xffffffff,
          values: [5],
          yes: 'allow',
          no: { argument: 0, mask: 0xffffffff, values: [9], yes: 'EINVAL', no: 'EPERM' },
        },
      }),
    );
    expect((twice.length - once.length) / 8).toBe(2);
    expect([5n, 9n, 4n].map((argument) => verdictAt(twice, 0, [argument]))).toEqual(['allow', 22, 1]);
  });

  it('writes the same rule of many calls once', () => {
    const rule: Rule = { argument: 1, mask: 0o6000, values: [0], yes: 'allow', no: 'EPERM' };
    const one = assemble(policyOf({ 10: rule, 20: 'allow' }));
    const three = assemble(policyOf({ 10: rule, 11: { ...rule }, 12: { ...rule }, 20: 'allow' }));
    expect(three.length).toBe(one.length);
  });

  it('reaches what is farther than a branch can jump', () => {
    const rules: Record<number, Rule> = {};
    for (let number = 0; number < 300; number++) {
      rules[number] = { argument: 0, mask: 0xffffffff, values: [number * 3], yes: 'allow', no: 'EPERM' };
    }
    const filter = assemble(policyOf(rules));
    expect(filterFault(filter)).toBeNull();
    for (let number = 0; number < 300; number++) {
      const near = [number * 3 - 1, number * 3, number * 3 + 1].map((value) =>
        verdictAt(filter, number, [BigInt(value)]),
      );
      expect(near).toEqual([1, 'allow', 1]);
    }
    expect([verdictAt(filter, 300), verdictAt(filter, 0x40000000)]).toEqual([38, 'kill']);
  });

  it('fails when it is longer than the kernel takes', () => {
    const rules: Record<number, Rule> = {};
    for (let number = 0; number < 1500; number++) {
      rules[number] = { argument: 0, mask: 0xffffffff, values: [number], yes: 'allow', no: 'EPERM' };
    }
    expect(() => assemble(policyOf(rules))).toThrow('the kernel takes 4096');
  });

  it('says of every call what the rules say, whatever the rules are', () => {
    const verdict = fc.constantFrom<Verdict>('allow', 'EPERM', 'ENOSYS', 'EINVAL', 'EAFNOSUPPORT');
    const word = fc.oneof(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.constantFrom(0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff),
    );
    const { rule } = fc.letrec<{ rule: Rule }>((tie) => ({
      rule: fc.oneof(
        { maxDepth: 4 },
        verdict,
        fc.record({
          argument: fc.integer({ min: 0, max: 5 }),
          mask: word,
          values: fc.array(word, { minLength: 1, maxLength: 5 }),
          yes: tie('rule'),
          no: tie('rule'),
        }),
      ),
    }));
    const number = fc.integer({ min: 0, max: 60 });
    const rules = fc.array(fc.tuple(number, rule), { minLength: 1, maxLength: 40 });
    const args = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(rules, fc.array(fc.tuple(number, args), { minLength: 1, maxLength: 20 }), (table, calls) => {
        const policy: SyscallPolicy = { architecture: 'x86_64', rules: new Map(table) };
        const filter = assemble(policy);
        expect(filterFault(filter)).toBeNull();
        for (const call of calls.flatMap(([each, given]) => [
          [each, given] as const,
          [each, aimed(policy, each, given)] as const,
        ])) {
          expect(verdictAt(filter, call[0], call[1])).toBe(
            answerOf(judge(policy.rules.get(call[0]) ?? 'ENOSYS', call[1])),
          );
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Arguments that meet the first value of each test along the way: chance alone would never find it. */
function aimed(policy: SyscallPolicy, number: number, args: readonly bigint[]): readonly bigint[] {
  const aim = [...args];
  let rule = policy.rules.get(number);
  while (rule !== undefined && typeof rule !== 'string') {
    aim[rule.argument] = (0xabcdn << 32n) | BigInt(rule.values[0] ?? 0);
    rule = rule.yes;
  }
  return aim;
}
