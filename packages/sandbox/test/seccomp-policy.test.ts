import { existsSync, readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { assemble } from '../src/seccomp/assemble.ts';
import { type FilterGrants, syscallPolicy } from '../src/seccomp/policy.ts';
import { auditOf, everyCall, everyGrant, numbersOf } from './seccomp-cases.ts';
import { expectedOf } from './seccomp-model.ts';
import { filterFault, simulate } from './seccomp-simulator.ts';

const nothing = {
  udp: false,
  tcp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;
const [ptrace, unshare, openat, read] = [101, 272, 257, 0];

const filterOf = (grants: FilterGrants): Buffer => assemble(syscallPolicy(grants));

describe('the tables of system calls', () => {
  it.each([
    ['read', 0, 63],
    ['openat', 257, 56],
    ['newfstatat', 262, 79],
    ['clone', 56, 220],
    ['ptrace', 101, 117],
    ['seccomp', 317, 277],
    ['memfd_create', 319, 279],
    ['rseq', 334, 293],
    ['io_uring_setup', 425, 425],
    ['clone3', 435, 435],
    ['openat2', 437, 437],
    ['landlock_restrict_self', 446, 446],
    ['fchmodat2', 452, 452],
    ['mseal', 462, 462],
    ['file_setattr', 469, 469],
    ['open', 2, undefined],
    ['mknod', 133, undefined],
    ['fork', 57, undefined],
    ['modify_ldt', 154, undefined],
  ])('give %s the numbers %i and %s', (name, onX86, onArm) => {
    expect([numbersOf.x86_64.get(name), numbersOf.aarch64.get(name)]).toEqual([onX86, onArm]);
  });

  it('agree with the kernel headers of this machine', (context) => {
    const header = '/usr/include/x86_64-linux-gnu/asm/unistd_64.h';
    context.skip(!existsSync(header), 'needs the x86_64 kernel headers of Debian');
    const defined = [...readFileSync(header, 'utf8').matchAll(/^#define __NR_(\w+) (\d+)$/gm)];
    const known = defined.filter(([, , number]) => Number(number) <= 471);
    expect(known.length).toBeGreaterThan(350);
    expect(known.filter(([, name = '', number]) => numbersOf.x86_64.get(name) !== Number(number))).toEqual([]);
  });

  it.each(['x86_64', 'aarch64'] as const)('have one name for each number of %s', (architecture) => {
    const numbers = [...numbersOf[architecture].values()];
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});

describe.each(['x86_64', 'aarch64'] as const)('the filter on %s', (architecture) => {
  const audit = auditOf[architecture];
  const calls = everyCall(architecture);

  it.each(everyGrant(architecture))(
    'decides every call as the model does: tcp $tcp, unix $unixSockets, listen $listen, ipc $ipc, metadata $restrictMetadata',
    (grants) => {
      const filter = filterOf(grants);
      expect(filterFault(filter)).toBeNull();
      const wrong = calls.flatMap(({ name, number, args }) => {
        const expected = expectedOf(name, grants, args);
        const { verdict } = simulate(filter, { number, audit, args });
        return verdict === expected ? [] : [{ name, number, args, expected, verdict }];
      });
      expect(wrong).toEqual([]);
    },
  );

  it('decides calls with any arguments as the model does', () => {
    const names = new Map([...numbersOf[architecture]].map(([name, number]) => [number, name]));
    const filters = everyGrant(architecture).map((grants) => ({ grants, filter: filterOf(grants) }));
    const args = fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 600n })), {
      minLength: 6,
      maxLength: 6,
    });
    const found = fc.check(
      fc.property(
        fc.constantFrom(...filters),
        fc.integer({ min: 0, max: 600 }),
        args,
        ({ grants, filter }, number, given) => {
          const { verdict } = simulate(filter, { number, audit, args: given });
          // One `expect` for each of so many would take most of the time.
          return verdict === expectedOf(names.get(number), grants, given);
        },
      ),
      { numRuns: 20_000 },
    );
    expect(found.counterexample).toBeNull();
  });

  it('answers ENOSYS to numbers that no kernel has yet', () => {
    const filter = filterOf({ ...nothing, architecture });
    const verdicts = [472, 511, 512, 547, 1000, 0x3fffffff].map(
      (number) => simulate(filter, { number, audit }).verdict,
    );
    expect(verdicts).toEqual([38, 38, 38, 38, 38, 38]);
  });

  it('stays small', () => {
    const sizes = everyGrant(architecture).map((grants) => filterOf(grants).length / 8);
    const filter = filterOf({ ...nothing, architecture });
    const steps = calls.map(({ number, args }) => simulate(filter, { number, audit, args }).steps);
    expect(Math.max(...sizes)).toBeLessThan(300);
    expect(Math.max(...steps)).toBeLessThan(25);
  });
});

describe('the filter on x86_64', () => {
  const filter = filterOf({ ...nothing, architecture: 'x86_64' });
  const verdictsOf = (audit: number, numbers: readonly number[]) =>
    numbers.map((number) => simulate(filter, { number, audit }).verdict);

  it('ends a process that uses the numbers of i386 or of x32, whatever the call', () => {
    expect(verdictsOf(0x40000003, [read, 5, ptrace, 1000])).toEqual(['kill', 'kill', 'kill', 'kill']);
    const x32 = [0x40000000, 0x40000000 + openat, 0x40000000 + 547, 0x80000000, 0xffffffff];
    expect(verdictsOf(0xc000003e, x32)).toEqual(['kill', 'kill', 'kill', 'kill', 'kill']);
  });

  it('refuses and allows these by their literal numbers', () => {
    expect(verdictsOf(0xc000003e, [read, openat, ptrace, unshare, 435, 437, 425, 165])).toEqual([
      'allow',
      'allow',
      1,
      1,
      38,
      38,
      1,
      1,
    ]);
  });
});

describe('the filter on aarch64', () => {
  it('ends a process that uses the numbers of 32-bit ARM', () => {
    const filter = filterOf({ ...nothing, architecture: 'aarch64' });
    expect(simulate(filter, { number: 63, audit: 0x40000028 }).verdict).toBe('kill');
    expect(simulate(filter, { number: 63, audit: 0xc00000b7 }).verdict).toBe('allow');
  });
});
