/** A call as a filter sees it. */
export interface SimulatedCall {
  readonly number: number;
  readonly audit: number;
  readonly args?: readonly bigint[];
}

export interface SimulatedAnswer {
  /** `allow`, `kill`, or the error number that the caller gets. */
  readonly verdict: 'allow' | 'kill' | number;
  readonly steps: number;
}

/** Runs a filter as the kernel does. It knows nothing of how filters are made. */
export function simulate(filter: Buffer, call: SimulatedCall): SimulatedAnswer {
  const data = callData(call);
  let accumulator = 0;
  let at = 0;
  for (let steps = 1; ; steps++) {
    const { code, whenTrue, whenFalse, operand } = instruction(filter, at);
    at++;
    switch (code) {
      case 0x20: // load a word
        accumulator = data.readUInt32LE(operand);
        break;
      case 0x54: // and
        accumulator = (accumulator & operand) >>> 0;
        break;
      case 0x05: // jump
        at += operand;
        break;
      case 0x15: // equal
        at += accumulator === operand ? whenTrue : whenFalse;
        break;
      case 0x35: // at least
        at += accumulator >= operand ? whenTrue : whenFalse;
        break;
      case 0x45: // bits in common
        at += (accumulator & operand) === 0 ? whenFalse : whenTrue;
        break;
      case 0x06: // return
        return { verdict: verdictOf(operand), steps };
      default:
        throw new Error(`instruction ${at - 1} has code 0x${code.toString(16)}`);
    }
  }
}

/** What the kernel checks before it takes a filter: a sentence on what is wrong, null when nothing is. */
export function filterFault(filter: Buffer): string | null {
  const count = filter.length / 8;
  if (!Number.isInteger(count) || count < 1 || count > 4096) return `${filter.length} bytes are no filter`;
  for (let at = 0; at < count; at++) {
    const { code, whenTrue, whenFalse, operand } = instruction(filter, at);
    const isComparison = code === 0x15 || code === 0x35 || code === 0x45;
    if (![0x20, 0x54, 0x05, 0x06].includes(code) && !isComparison) return `instruction ${at} is unknown`;
    if (code === 0x20 && (operand % 4 !== 0 || operand >= 64)) return `instruction ${at} loads from ${operand}`;
    const farthest = code === 0x05 ? operand : isComparison ? Math.max(whenTrue, whenFalse) : 0;
    if (at + 1 + farthest >= count && code !== 0x06) return `instruction ${at} leads out of the filter`;
  }
  return null;
}

/** The same filter, with another answer where it allows. */
export function withAllowAs(filter: Buffer, errno: number): Buffer {
  const changed = Buffer.from(filter);
  for (let at = 0; at < filter.length; at += 8) {
    const allows = filter.readUInt16LE(at) === 0x06 && filter.readUInt32LE(at + 4) === 0x7fff_0000;
    if (allows) changed.writeUInt32LE(0x0005_0000 + errno, at + 4);
  }
  return changed;
}

function instruction(filter: Buffer, at: number) {
  return {
    code: filter.readUInt16LE(at * 8),
    whenTrue: filter.readUInt8(at * 8 + 2),
    whenFalse: filter.readUInt8(at * 8 + 3),
    operand: filter.readUInt32LE(at * 8 + 4),
  };
}

/** `struct seccomp_data`: number, architecture, instruction pointer, six arguments. */
function callData({ number, audit, args = [] }: SimulatedCall): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + index * 8);
  return data;
}

function verdictOf(answer: number): SimulatedAnswer['verdict'] {
  if (answer === 0x7fff_0000) return 'allow';
  if (answer === 0x8000_0000) return 'kill';
  if (answer >>> 16 === 0x0005) return answer & 0xffff;
  throw new Error(`a filter answers 0x${answer.toString(16)}`);
}
