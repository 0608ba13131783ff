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
export const comparison = { equal: 0x15, atLeast: 0x35, anyBit: 0x45 } as const;

const longestBranch = 255;
/** `BPF_MAXINSNS`. */
export const mostInstructions = 4096;

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
      const near = this.#within(yes, longestBranch - 1);
      const nearOtherwise = this.#within(no, longestBranch);
      return this.#write(comparison[kind], operand, this.#distance(near), this.#distance(nearOtherwise));
    });
  }

  /** The program that begins at `start`. Throws when the kernel would not take it for its length. */
  program(start: Label): readonly Instruction[] {
    this.#leadInto(start);
    if (this.#reversed.length > mostInstructions) {
      throw new Error(`a filter of ${this.#reversed.length} instructions, the kernel takes ${mostInstructions}`);
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
