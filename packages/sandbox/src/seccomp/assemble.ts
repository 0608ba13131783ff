/** Assembles a filter as the kernel reads it. */

import { architectures } from './architecture.ts';
import type { SyscallPolicy } from './policy.ts';
import { type Instruction, type Label, ProgramBuilder } from './program-builder.ts';
import { allBits, type ArgumentTest, type Rule, type Verdict } from './rule.ts';

/** `SECCOMP_RET_*`; an error number stands in the low 16 bits. */
const answers: Readonly<Record<Verdict, number>> = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  EPERM: 0x0005_0000 + 1,
  EINVAL: 0x0005_0000 + 22,
  ENOSYS: 0x0005_0000 + 38,
  EAFNOSUPPORT: 0x0005_0000 + 97,
};

/** Offsets in `struct seccomp_data`. Both architectures keep the low half of an argument first. */
const callNumber = 0;
const callArchitecture = 4;
const argumentOffset = (argument: number): number => 16 + 8 * argument;

/**
 * The filter that enforces `policy`, as an array of `struct sock_filter` in the byte order of both architectures, ready for
 * `svc-launch`. A call under another architecture's numbers, x32's among them, ends the process; unknown numbers answer ENOSYS.
 * Up to the look at an argument it uses nothing but what lets the kernel work out beforehand which numbers it always allows.
 */
export function assemble(policy: SyscallPolicy): Buffer {
  const { audit, foreignFrom } = architectures[policy.architecture];
  const builder = new ProgramBuilder();
  const kill = builder.answer(answers.kill);
  const known = select(builder, numberRanges(builder, policy));
  const own = foreignFrom === null ? known : builder.branch('atLeast', foreignFrom, { yes: kill, no: known });
  const start = builder.branch('equal', audit, { yes: builder.load(callNumber, own), no: kill });
  return encode(builder.program(builder.load(callArchitecture, start)));
}

/** The numbers from `first` up to the next range. */
interface Range {
  readonly first: number;
  readonly target: Label;
}

function numberRanges(builder: ProgramBuilder, { rules }: SyscallPolicy): readonly Range[] {
  const unknown = builder.answer(answers.ENOSYS);
  const last = Math.max(...rules.keys());
  const targets = Array.from({ length: last + 1 }, (_, number) => {
    const rule = rules.get(number);
    return rule === undefined ? unknown : compile(builder, rule, null);
  });
  return mergeRanges([...targets, unknown].map((target, first) => ({ first, target })));
}

function mergeRanges(ranges: readonly Range[]): readonly Range[] {
  return ranges.filter(({ target }, index) => target !== ranges[index - 1]?.target);
}

/** A balanced tree of comparisons: finds the range of the accumulator, which is at least the first of them all. */
function select(builder: ProgramBuilder, ranges: readonly Range[]): Label {
  const [one, two, three] = ranges;
  if (one === undefined) throw new Error('no range to select from');
  if (two === undefined) return one.target;
  const isHole = ranges.length === 3 && one.target === three?.target && three.first === two.first + 1;
  if (isHole) return builder.branch('equal', two.first, { yes: two.target, no: one.target });
  const middle = ranges.length >> 1;
  const upper = ranges.slice(middle);
  const yes = select(builder, upper);
  const no = select(builder, ranges.slice(0, middle));
  return builder.branch('atLeast', upper[0]?.first ?? 0, { yes, no });
}

/** What the accumulator holds. */
type Loaded = Pick<ArgumentTest, 'argument' | 'mask'>;

function compile(builder: ProgramBuilder, rule: Rule, loaded: Loaded | null): Label {
  if (typeof rule === 'string') return builder.answer(answers[rule]);
  const { argument, mask, values } = rule;
  const isBitTest = values.length === 1 && values[0] === 0 && mask !== allBits;
  const held = { argument, mask: isBitTest ? allBits : mask };
  const yes = compile(builder, rule.yes, held);
  const no = compile(builder, rule.no, held);
  const test = isBitTest
    ? builder.branch('anyBit', mask, { yes: no, no: yes })
    : select(builder, valueRanges(values, { yes, no }));
  if (loaded?.argument === argument && loaded.mask === held.mask) return test;
  const masked = held.mask === allBits ? test : builder.and(mask, test);
  return builder.load(argumentOffset(argument), masked);
}

function valueRanges(
  values: readonly number[],
  { yes, no }: { readonly yes: Label; readonly no: Label },
): readonly Range[] {
  const ascending = values.toSorted((one, other) => one - other);
  const ranges = new Map<number, Label>([[0, no]]);
  for (const value of ascending) {
    ranges.set(value, yes);
    if (value < allBits) ranges.set(value + 1, no);
  }
  return mergeRanges([...ranges].map(([first, target]) => ({ first, target })));
}

function encode(program: readonly Instruction[]): Buffer {
  const size = 8;
  const bytes = Buffer.alloc(program.length * size);
  for (const [index, { code, whenTrue, whenFalse, operand }] of program.entries()) {
    bytes.writeUInt16LE(code, index * size);
    bytes.writeUInt8(whenTrue, index * size + 2);
    bytes.writeUInt8(whenFalse, index * size + 3);
    bytes.writeUInt32LE(operand, index * size + 4);
  }
  return bytes;
}
