/** What a program runs on, as its first bytes tell. */
export type ProgramPlatform =
  /** Compiled for these platforms. */
  | { readonly kind: 'binary'; readonly platforms: readonly string[] }
  /** A text that names its interpreter: it runs wherever that is. */
  | { readonly kind: 'script' }
  | { readonly kind: 'unknown' };

const elfMachines: Readonly<Record<number, string>> = { 0x3e: 'x86_64', 0xb7: 'aarch64' };
const machTypes: Readonly<Record<number, string>> = { 0x01000007: 'x86_64', 0x0100000c: 'aarch64' };
/** Of the ELF header's ABI: System V and Linux. Others name systems that no `svc` runs on. */
const linuxAbis: ReadonlySet<number> = new Set([0, 3]);
const mostSlices = 8;
const unknown: ProgramPlatform = { kind: 'unknown' };

/** Reads the header of an ELF or Mach-O file, universal ones included. */
export function platformOfProgram(bytes: Buffer): ProgramPlatform {
  if (bytes.length >= 2 && bytes.toString('latin1', 0, 2) === '#!') return { kind: 'script' };
  if (bytes.length < 20) return unknown;
  switch (bytes.readUInt32BE(0)) {
    case 0x7f454c46:
      return linuxAbis.has(bytes.readUInt8(7)) ? binary('linux', [elfMachines[elfMachine(bytes)]]) : unknown;
    case 0xcffaedfe:
      return binary('darwin', [machTypes[bytes.readUInt32LE(4)]]);
    case 0xcafebabe:
      return binary('darwin', universalTypes(bytes));
    default:
      return unknown;
  }
}

function elfMachine(bytes: Buffer): number {
  const isLittleEndian = bytes.readUInt8(5) === 1;
  return isLittleEndian ? bytes.readUInt16LE(18) : bytes.readUInt16BE(18);
}

function universalTypes(bytes: Buffer): readonly (string | undefined)[] {
  const count = bytes.readUInt32BE(4);
  // Java classes begin with the same four bytes; their next are a version, far above any count.
  if (count === 0 || count > mostSlices || bytes.length < 8 + count * 20) return [undefined];
  return Array.from({ length: count }, (_, index) => machTypes[bytes.readUInt32BE(8 + index * 20)]);
}

function binary(os: string, architectures: readonly (string | undefined)[]): ProgramPlatform {
  const known = architectures.filter((each) => each !== undefined);
  if (known.length < architectures.length) return unknown;
  return { kind: 'binary', platforms: known.map((each) => `${os}-${each}`).sort() };
}
