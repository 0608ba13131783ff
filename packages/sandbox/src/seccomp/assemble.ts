/** Makes the system call filter that fits the grants of a process, as the kernel reads it. */

import { architectures, type Architecture } from './allowed-calls.ts';
import { type SyscallPolicy, syscallPolicy, allBits, type ArgumentTest, type Rule, type Verdict } from './policy.ts';
import type { Enforcement } from '../launch/enforcement.ts';
import { connects } from '../contained-environment.ts';
import type { ProcessGrants } from '../launch/process-grants.ts';

const nothingGranted = {
  tcp: false,
  udp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;

/** The filter of a process that is granted nothing, which is what a host is tried with. */
export function strictestFilter(architecture: Architecture): Buffer {
  return assemble(syscallPolicy({ ...nothingGranted, architecture }));
}

/** The filter of a process with these grants. */
export function filterFor(grants: ProcessGrants, enforcement: Enforcement, architecture: Architecture): Buffer {
  return assemble(
    syscallPolicy({
      ...nothingGranted,
      architecture,
      tcp: connects(grants),
      unixSockets: grants.unixSockets,
      // Listening on a socket of TCP that has no address gives it one, unseen by Landlock: only a network of one's own may have both.
      listen: grants.unixSockets && (enforcement.class === 'sealed' || !connects(grants)),
      // Queues and shared memory of the host are nobody's business; in a namespace there are only one's own.
      ipc: enforcement.class === 'sealed',
    }),
  );
}

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
 * Up to the look at an argument it uses only what lets the kernel work out beforehand which numbers it always allows.
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
  // Most calls share one of a few rules.
  const compiled = new Map<Rule | undefined, Label>([[undefined, unknown]]);
  const last = Math.max(...rules.keys());
  const ranges: Range[] = [];
  for (let first = 0; first <= last + 1; first += 1) {
    const rule = rules.get(first);
    const target = compiled.get(rule) ?? compile(builder, rule ?? 'ENOSYS', null);
    compiled.set(rule, target);
    if (ranges.at(-1)?.target !== target) ranges.push({ first, target });
  }
  return ranges;
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
  const view = new DataView(new ArrayBuffer(program.length * size));
  for (const [index, { code, whenTrue, whenFalse, operand }] of program.entries()) {
    view.setUint16(index * size, code, true);
    view.setUint8(index * size + 2, whenTrue);
    view.setUint8(index * size + 3, whenFalse);
    view.setUint32(index * size + 4, operand, true);
  }
  return Buffer.from(view.buffer);
}

/** An instruction of the kernel's packet filter machine: `struct sock_filter`. */
export interface Instruction {
  readonly code: number;
  /** How many instructions are passed over when a comparison holds, and when it does not. */
  readonly whenTrue: number;
  readonly whenFalse: number;
  readonly operand: number;
}

/** Where a piece of the program begins. */
export type Label = number & { readonly label: unique symbol };

/** `BPF_*`: a load of a 32-bit word of the call, AND with a constant, a jump, a return of a constant. */
const code = { load: 0x20, and: 0x54, jump: 0x05, answer: 0x06 } as const;
/** Comparisons of the accumulator with a constant; `anyBit` is of bits in common. */
const comparison = { equal: 0x15, atLeast: 0x35, anyBit: 0x45 } as const;

const maxBranch = 255;
/** `BPF_MAXINSNS`. */
const maxInstructions = 4096;

/**
 * Builds a program from its end to its beginning, because the machine only jumps forward: where a jump leads is written before
 * the jump, so that every distance is known. The same piece is written once and shared; where it is too far for a branch, a
 * jump that can be reached stands in for it.
 */
export class ProgramBuilder {
  /** Last instruction first; a label is an index into it. */
  readonly #reversed: Instruction[] = [];
  readonly #written = new Map<string, Label>();
  readonly #standIns = new Map<Label, Label>();

  /** Ends the program with this value. */
  answer(value: number): Label {
    return this.#once(`answer ${value}`, () => this.#write(code.answer, value));
  }

  /** Loads the word at `offset` of `struct seccomp_data`, then goes on. */
  load(offset: number, next: Label): Label {
    return this.#once(`load ${offset} ${next}`, () => {
      this.#leadInto(next);
      return this.#write(code.load, offset);
    });
  }

  /** Keeps the bits of `mask`, then goes on. */
  and(mask: number, next: Label): Label {
    return this.#once(`and ${mask} ${next}`, () => {
      this.#leadInto(next);
      return this.#write(code.and, mask);
    });
  }

  /** Goes one of two ways. */
  branch(
    kind: keyof typeof comparison,
    operand: number,
    { yes, no }: { readonly yes: Label; readonly no: Label },
  ): Label {
    if (yes === no) return yes;
    return this.#once(`${kind} ${operand} ${yes} ${no}`, () => {
      // Bringing the second into reach may push the first one instruction further away.
      const near = this.#within(yes, maxBranch - 1);
      const nearOtherwise = this.#within(no, maxBranch);
      return this.#write(comparison[kind], operand, this.#distance(near), this.#distance(nearOtherwise));
    });
  }

  /** The program that begins at `start`. Throws when the kernel would not take it for its length. */
  program(start: Label): readonly Instruction[] {
    this.#leadInto(start);
    if (this.#reversed.length > maxInstructions) {
      throw new Error(`a filter of ${this.#reversed.length} instructions, the kernel takes ${maxInstructions}`);
    }
    return this.#reversed.toReversed();
  }

  #once(key: string, write: () => Label): Label {
    const label = this.#written.get(key) ?? write();
    this.#written.set(key, label);
    return label;
  }

  /** How many instructions lie between the one that is written next and `label`. */
  #distance(label: Label): number {
    return this.#reversed.length - label - 1;
  }

  /** What is written next goes on at `next`. */
  #leadInto(next: Label): void {
    if (this.#distance(next) > 0) this.#standIn(next);
  }

  #within(label: Label, reach: number): Label {
    if (this.#distance(label) <= reach) return label;
    const standIn = this.#standIns.get(label);
    if (standIn !== undefined && this.#distance(standIn) <= reach) return standIn;
    return this.#standIn(label);
  }

  /** An answer is as short as a jump to it. */
  #standIn(label: Label): Label {
    const target = this.#reversed[label];
    const standIn =
      target?.code === code.answer
        ? this.#write(code.answer, target.operand)
        : this.#write(code.jump, this.#distance(label));
    this.#standIns.set(label, standIn);
    return standIn;
  }

  #write(opcode: number, operand: number, whenTrue = 0, whenFalse = 0): Label {
    return (this.#reversed.push({ code: opcode, whenTrue, whenFalse, operand }) - 1) as Label;
  }
}
