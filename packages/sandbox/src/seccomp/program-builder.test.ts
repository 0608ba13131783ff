import { describe, expect, it } from 'vitest';

import { type Instruction, type Label, ProgramBuilder } from './assemble.ts';

/** As many loads as asked for, one leading into the next. */
function filler(builder: ProgramBuilder, count: number, next: Label): Label {
  let label = next;
  for (let loads = 0; loads < count; loads++) label = builder.load(4 * (loads % 16), label);
  return label;
}

/** What the program answers when the accumulator holds `held` whatever is loaded. */
function run(program: readonly Instruction[], held: number): number {
  for (let at = 0; ; at++) {
    const instruction = program[at];
    if (instruction === undefined) throw new Error(`there is no instruction ${at}`);
    const { code, whenTrue, whenFalse, operand } = instruction;
    if (code === 0x06) return operand;
    if (code === 0x05) at += operand;
    if (code === 0x15) at += held === operand ? whenTrue : whenFalse;
  }
}

describe('a program built from its end', () => {
  it.each(Array.from({ length: 12 }, (_, more) => [248 + more]))(
    'branches both ways over %i instructions and many more',
    (between) => {
      const builder = new ProgramBuilder();
      const far = builder.load(0, builder.answer(1));
      const near = builder.load(0, filler(builder, 300, builder.answer(2)));
      const start = filler(builder, between, builder.answer(3));
      const either = builder.branch('equal', 7, { yes: near, no: far });
      const first = builder.branch('equal', 9, { yes: start, no: either });
      const program = builder.program(first);
      expect([7, 8, 9].map((held) => run(program, held))).toEqual([2, 1, 3]);
      const jumps = program.flatMap(({ whenTrue, whenFalse }) => [whenTrue, whenFalse]);
      expect(Math.max(...jumps)).toBeLessThanOrEqual(255);
    },
  );

  it('branches as far as a branch can without a jump in between', () => {
    const length = (between: number) => {
      const builder = new ProgramBuilder();
      const far = builder.load(0, builder.answer(1));
      const near = filler(builder, between, builder.answer(2));
      return builder.program(builder.branch('equal', 7, { yes: near, no: far })).length - between;
    };
    // Two answers, a load, the branch; then the jump that stands in for the load.
    expect([length(254), length(255)]).toEqual([4, 5]);
  });

  it('has at most 4096 instructions', () => {
    const withLoads = (count: number) => {
      const builder = new ProgramBuilder();
      return builder.program(filler(builder, count, builder.answer(1)));
    };
    expect(withLoads(4095).length).toBe(4096);
    expect(() => withLoads(4096)).toThrow('a filter of 4097 instructions, the kernel takes 4096');
  });

  it('goes straight on where both ways are the same', () => {
    const builder = new ProgramBuilder();
    const end = builder.answer(1);
    expect(builder.program(builder.branch('anyBit', 1, { yes: end, no: end }))).toEqual([
      { code: 0x06, whenTrue: 0, whenFalse: 0, operand: 1 },
    ]);
  });
});
