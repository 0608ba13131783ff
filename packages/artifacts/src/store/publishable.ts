/** Checks an archive before it is published, and publishes it to a store of this machine. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile, chunksOfFile } from '@svc/kit/files/regular-file.ts';
import type { Packaging } from '@svc/protocol/registry-messages.ts';
import { serverFile, type ArtifactManifest } from '../manifest/schema.ts';
import { type Archive, readArchive } from './archive.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import {
  type ArtifactKind,
  componentFile,
  type InspectedContent,
  inspectContent,
  requiredFile,
} from './inspect-content.ts';
import { readVariant } from './store-layout.ts';
import { putArchive } from './store-put.ts';

/** An archive and what a registry receives about it. */
export interface Publishable extends ArtifactRef {
  readonly path: string;
  readonly kind: ArtifactKind;
  readonly packaging: Packaging;
  /** Empty for the generic file. */
  readonly platforms: readonly string[];
  readonly sha256: string;
  readonly bytes: number;
}

/** More than any header has that is looked at. */
const headerBytes = 4096;

/**
 * Checks an archive whole, as a store does that takes it in. `named` are the platforms the operator gave; without any, those of a native
 * artifact are read from its program. `E-REG-007` when that does not show them.
 */
export async function inspectPublishable(path: string, named: readonly string[]): Promise<Publishable> {
  const file = await RegularFile.open(path);
  try {
    const sha256 = await file.sha256();
    const archive = await readArchive(file);
    await archive.verify();
    const content = await inspectContent(archive);
    const packaging = packagingOf(content);
    const platforms = named.length > 0 ? named : await detectPlatforms(archive, content, packaging);
    const { name, version } = content.ref;
    return { name, version, path, kind: content.kind, packaging, platforms, sha256, bytes: file.size };
  } finally {
    await file.close();
  }
}

/** The component in an archive that was inspected. `E-ART-004` for one that has none, `E-ART-006` for a file that was replaced since. */
export async function readComponent({ path, sha256, packaging, ...ref }: Publishable): Promise<Buffer> {
  if (packaging !== 'wasm') {
    throw new Diagnostic('E-ART-004', `${spell(ref)} has no ${componentFile} that could be published alone`, {
      hint: 'leave --also-wasm out',
    });
  }
  const file = await RegularFile.open(path);
  try {
    if ((await file.sha256()) !== sha256) throw new Diagnostic('E-ART-006', `${path} was replaced while it was read`);
    return await (await readArchive(file)).read(componentFile);
  } finally {
    await file.close();
  }
}

/** The query parameter `runtime` of a publish: what has a program of its own is `native`, what has no code `static`. */
function packagingOf(content: InspectedContent): Packaging {
  if (content.kind === 'capsule' || content.kind === 'skill') return 'static';
  if (content.manifest.implementation === 'wasm') return 'wasm';
  return programOf(content.manifest) === null ? 'static' : 'native';
}

function programOf(manifest: ArtifactManifest): string | null {
  return manifest.implementation === 'mcp' ? serverFile(manifest.command ?? []) : requiredFile(manifest);
}

async function detectPlatforms(
  archive: Archive,
  content: InspectedContent,
  packaging: Packaging,
): Promise<readonly string[]> {
  if (packaging !== 'native' || content.kind === 'capsule') return [];
  const program = programOf(content.manifest) ?? '';
  const found = platformOfProgram(await archive.readStart(program, headerBytes));
  switch (found.kind) {
    case 'binary':
      return found.platforms;
    case 'script':
      return [];
    case 'unknown':
      throw new Diagnostic('E-REG-007', `cannot find out for which platform ${program} of ${spell(content.ref)} is`, {
        hint: 'name it with --platform, such as --platform linux-x86_64',
      });
  }
}

/**
 * Publishes to a store of this machine (docs/cli.md "svc publish"). As with a registry, what is published never changes: `E-REG-003`
 * when the store has other bytes for a variant. The same bytes again are no mistake, since nobody else can have published them.
 */
export async function publishLocally(
  archive: Publishable,
  root: string,
  signatures: readonly string[] = [],
): Promise<void> {
  const { name, version, platforms, sha256, path } = archive;
  const variants = platforms.length === 0 ? [null] : platforms;
  for (const platform of variants) {
    const present = readVariant(root, { name, version }, platform);
    if (present === null || present.sha256 === sha256) continue;
    throw new Diagnostic('E-REG-003', `${spell(archive)} is published already in ${root}, with other bytes`, {
      hint: 'publish a new version; while you work on it, svc install -g <path> replaces what is there',
    });
  }
  for (const platform of variants) {
    await putArchive({ root, chunks: chunksOfFile(path), platform, from: path, expected: archive, sha256, signatures });
  }
}

/** What a program runs on, as its first bytes show. */
type ProgramPlatform =
  /** Compiled for these platforms. */
  | { readonly kind: 'binary'; readonly platforms: readonly string[] }
  /** A text that names its interpreter: it runs wherever that is. */
  | { readonly kind: 'script' }
  | { readonly kind: 'unknown' };

const elfMachines: Readonly<Record<number, string>> = { 0x3e: 'x86_64', 0xb7: 'aarch64' };
const machTypes: Readonly<Record<number, string>> = { 0x01000007: 'x86_64', 0x0100000c: 'aarch64' };
/** The ABIs of an ELF header that run on Linux: System V and Linux itself. */
const linuxAbis: ReadonlySet<number> = new Set([0, 3]);
const maxSlices = 8;
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
  if (count === 0 || count > maxSlices || bytes.length < 8 + count * 20) return [undefined];
  return Array.from({ length: count }, (_, index) => machTypes[bytes.readUInt32BE(8 + index * 20)]);
}

function binary(os: string, architectures: readonly (string | undefined)[]): ProgramPlatform {
  const known = architectures.filter((each) => each !== undefined);
  if (known.length < architectures.length) return unknown;
  return { kind: 'binary', platforms: known.map((each) => `${os}-${each}`).sort() };
}
