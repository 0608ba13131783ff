/** The numbers of system calls, by architecture. */

import aarch64 from './syscalls-aarch64.json' with { type: 'json' };
import x8664 from './syscalls-x86_64.json' with { type: 'json' };

export type Architecture = 'x86_64' | 'aarch64';

/** A system call of either architecture; aarch64 has none that x86_64 lacks. */
export type SyscallName = keyof typeof x8664;

interface ArchitectureFacts {
  /** `AUDIT_ARCH_*`, by which the kernel tells a filter whose numbers a call uses. */
  readonly audit: number;
  /** Numbers from here on belong to another set of numbers under the same `audit`; null where there is none. */
  readonly foreignFrom: number | null;
  /** Number by name, of every call known when the table was generated (`scripts/generate-syscalls.mjs`). */
  readonly syscalls: ReadonlyMap<string, number>;
}

export const architectures: Readonly<Record<Architecture, ArchitectureFacts>> = {
  // The set of numbers behind bit 30 is x32's.
  x86_64: { audit: 0xc000_003e, foreignFrom: 0x4000_0000, syscalls: new Map(Object.entries(x8664)) },
  aarch64: { audit: 0xc000_00b7, foreignFrom: null, syscalls: new Map(Object.entries(aarch64)) },
};
