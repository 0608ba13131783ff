/** An error number that a refused call answers. */
export type RefusalError = 'EPERM' | 'ENOSYS' | 'EINVAL' | 'EAFNOSUPPORT';

/** What becomes of a call: `kill` ends the whole process. */
export type Verdict = 'allow' | 'kill' | RefusalError;

/**
 * Looks at one argument. Only its low 32 bits count: of every argument that is tested here the kernel itself reads no more,
 * whatever a caller puts above them.
 */
export interface ArgumentTest {
  readonly argument: number;
  /** The bits that count. */
  readonly mask: number;
  /** The test holds when the bits that count are one of these. */
  readonly values: readonly number[];
  readonly yes: Rule;
  readonly no: Rule;
}

/** What becomes of a call, at once or after a look at its arguments. */
export type Rule = Verdict | ArgumentTest;

export const allBits = 0xffff_ffff;

interface Branches {
  readonly yes: Rule;
  readonly no: Rule;
}

/** Whether the argument is one of `values`. */
export function whenOneOf(argument: number, values: readonly number[], branches: Branches): ArgumentTest {
  return { argument, mask: allBits, values, ...branches };
}

/** Whether the bits of `mask` in the argument are one of `values`. */
export function whenBits(
  argument: number,
  { mask, values }: Pick<ArgumentTest, 'mask' | 'values'>,
  branches: Branches,
): ArgumentTest {
  return { argument, mask, values, ...branches };
}

/** Whether any bit of `mask` is set in the argument. */
export function whenAnyBit(argument: number, mask: number, { yes, no }: Branches): ArgumentTest {
  return { argument, mask, values: [0], yes: no, no: yes };
}
