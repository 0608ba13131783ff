import type { FilterGrants } from '../src/seccomp/policy.ts';
import aarch64 from '../src/seccomp/syscalls-aarch64.json' with { type: 'json' };
import x8664 from '../src/seccomp/syscalls-x86_64.json' with { type: 'json' };

export type Architecture = FilterGrants['architecture'];

export const numbersOf: Readonly<Record<Architecture, ReadonlyMap<string, number>>> = {
  x86_64: new Map(Object.entries(x8664)),
  aarch64: new Map(Object.entries(aarch64)),
};

export const auditOf: Readonly<Record<Architecture, number>> = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };

/** All 32 that there are for an architecture. */
export function everyGrant(architecture: Architecture): readonly FilterGrants[] {
  return Array.from({ length: 32 }, (_, bits) => ({
    architecture,
    udp: false,
    tcp: (bits & 1) !== 0,
    unixSockets: (bits & 2) !== 0,
    listen: (bits & 4) !== 0,
    ipc: (bits & 8) !== 0,
    restrictMetadata: (bits & 16) !== 0,
  }));
}

/** Values around every border of a rule, by argument of the call. */
const borders: Readonly<Record<string, Readonly<Record<number, readonly number[]>>>> = {
  clone: {
    0: [0x11, 0x80, 0x3d0f00, 0x4111, 0x8000, ...bits(17, 23, 25, 26, 27, 28, 29, 30), 0x81ffffff - 0x8000, 1 << 16],
  },
  creat: { 1: modes() },
  chmod: { 1: modes() },
  fchmod: { 1: modes() },
  fchmodat: { 2: modes() },
  fchmodat2: { 2: modes() },
  open: { 1: [0, 0x40, 0x41, 0x80, 0x400000, 0x410000, 0x20000, 0xffffffff], 2: modes() },
  openat: { 2: [0, 0x40, 0x41, 0x80, 0x400000, 0x410000, 0x20000, 0xffffffff], 3: modes() },
  mknod: { 1: nodes() },
  mknodat: { 2: nodes() },
  renameat2: { 4: [0, 1, 2, 3, 4, 5, 6, 7, 8, 0x80000004] },
  memfd_create: { 1: [0, 1, 2, 4, 7, 8, 9, 0x10, 0x18, 0xfffffff7, 0xffffffff] },
  personality: { 0: [0, 1, 8, 0x40000, 0x400000, 0x7fffffff, 0xfffffffe, 0xffffffff] },
  prlimit64: { 0: [0, 1, 0x7fffffff, 0x80000000, 0xffffffff] },
  seccomp: { 0: [0, 1, 2, 3, 4, 0x80000001], 1: [0, 1, 2, 4, 5, 7, 8, 9, 16, 17, 23, 24, 31, 32, 64, 0x80000000] },
  ioctl: {
    1: [0x540e, 0x5412, 0x541c, 0x541d, 0x5423, 0x5437, 0xaa00, 0x40086602, 0x401c5820]
      .flatMap(around)
      .concat([0, 0x5401]),
    2: [0, 1, 2],
  },
  prctl: {
    0: [...Array.from({ length: 90 }, (_, option) => option), ...[0x41555856, 0x53564d41, 0x59616d61].flatMap(around)],
  },
  setsockopt: { 1: [0, 1, 5, 6, 7, 41, 0x80000006], 2: [1, 22, 23, 24, 29, 30, 31, 32, 33, 34, 35, 0x8000001e] },
  sendto: { 3: [0, 0x4000, 0x1fffffff, 0x20000000, 0x20004000, 0x40000000, 0xdfffffff, 0xffffffff] },
  sendmsg: { 2: [0, 0x4000, 0x1fffffff, 0x20000000, 0x20004000, 0x40000000, 0xdfffffff, 0xffffffff] },
  sendmmsg: { 3: [0, 0x4000, 0x1fffffff, 0x20000000, 0x20004000, 0x40000000, 0xdfffffff, 0xffffffff] },
  socket: { 0: families(), 1: types(), 2: [0, 1, 2, 5, 6, 7, 17, 58, 132, 255, 256, 262, 0x80000006] },
  socketpair: { 0: families(), 1: types() },
};

function bits(...places: readonly number[]): readonly number[] {
  return places.map((place) => 2 ** place);
}

function around(value: number): readonly number[] {
  return [value - 1, value, value + 1];
}

function modes(): readonly number[] {
  return [0, 0o644, 0o1777, 0o2000, 0o2755, 0o4000, 0o4755, 0o6000, 0o7777, 0o100644, 0o104755, 0xfffff3ff, 0xffffffff];
}

function nodes(): readonly number[] {
  const types = Array.from({ length: 16 }, (_, type) => type * 0x1000);
  return types
    .flatMap((type) => [0, 0o644, 0o1777, 0o2644, 0o4644, 0o6000].map((mode) => type + mode))
    .concat([0x11000]);
}

function families(): readonly number[] {
  return [...Array.from({ length: 48 }, (_, family) => family), 0x80000001, 0x80000002, 0xffffffff];
}

function types(): readonly number[] {
  const plain = Array.from({ length: 16 }, (_, type) => type);
  return [...plain, 0x801, 0x80001, 0x80801, 0x80802, 0x80803, 0x80805, 0x11, 0xfffffff1];
}

export interface Call {
  readonly name: string | undefined;
  readonly number: number;
  readonly args: readonly bigint[];
}

/** Every number from 0 to 600 with no arguments, and every rule at its borders, each also with bits set above the low 32. */
export function everyCall(architecture: Architecture): readonly Call[] {
  const names = new Map([...numbersOf[architecture]].map(([name, number]) => [number, name]));
  return Array.from({ length: 601 }, (_, number) => number).flatMap((number) => {
    const name = names.get(number);
    return [[], ...argumentsOf(borders[name ?? ''] ?? {})].map((args) => ({ name, number, args }));
  });
}

function argumentsOf(tested: Readonly<Record<number, readonly number[]>>): readonly (readonly bigint[])[] {
  let rows: readonly (readonly bigint[])[] = [[0n, 0n, 0n, 0n, 0n, 0n]];
  for (const [argument, values] of Object.entries(tested)) {
    rows = rows.flatMap((row) => values.map((value) => row.with(Number(argument), BigInt(value))));
  }
  return rows.flatMap((row) => [row, row.map((value) => value + 0xdead_beef_0000_0000n)]);
}
