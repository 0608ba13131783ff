/** Says what a compiled component consists of, and keeps it in one file. */

import { createHash } from 'node:crypto';

import { type Guarded, isListOf, isObjectOf, isText } from '@svc/kit/guards.ts';
import { sha256Hex, sha256Shape } from '@svc/kit/sha256.ts';

/** A component as the compiler left it: a script that links it and the core modules the script asks for. */
export interface TranspiledComponent {
  /** The hash of the bytes of `component.wasm`, in lowercase hex. */
  readonly componentSha256: string;
  /** What it imports, without versions: `svc:text/chunks`. */
  readonly imports: readonly string[];
  /** What it imports and exports, with versions: `svc:text/chunks@0.1.0`. */
  readonly interfaces: readonly string[];
  /** A classic script whose value is the linking function. */
  readonly glue: string;
  readonly glueSha256: string;
  readonly modules: readonly CoreModule[];
}

export interface CoreModule {
  /** As the glue asks for it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** An archive in which core modules lie as they are, so that a file beside it needs no copy of them. */
export interface ArchiveBeside {
  /** Its name; it lies one folder above the file. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The part of an archive that has the core modules which a file leaves to it. */
export interface ArchiveSlice {
  readonly archive: string;
  readonly from: number;
  readonly to: number;
  /** The hash of these bytes, in hex. */
  readonly digest: string;
}

interface Header {
  readonly componentSha256: string;
  readonly imports: readonly string[];
  readonly interfaces: readonly string[];
  readonly glueBytes: number;
  readonly glueSha256: string;
  /** `at`: in the slice; a module without it lies in the file, behind the one before. */
  readonly modules: readonly { readonly name: string; readonly size: number; readonly at?: number }[];
  readonly slice?: ArchiveSlice;
}

/** Counts up with every change to the form of the file, the glue or the compiler's options. */
export const transpiledFormat = 6;

const magic = Buffer.from(`svc transpiled component ${transpiledFormat}\n`);
/** BLAKE2b finds damage about twice as fast as SHA-256 does on a processor without help for either. */
const digestBytes = 64;
const lengthBytes = 4;
const headerAt = magic.length + digestBytes + lengthBytes;

export function transpiledComponent(
  componentSha256: string,
  { imports, interfaces, glue, modules }: Extract<CompilerAnswer, { readonly kind: 'transpiled' }>,
): TranspiledComponent {
  const glueSha256 = sha256Hex(glue);
  return { componentSha256, imports, interfaces, glue, glueSha256, modules };
}

/**
 * The one file a transpiled component is kept in: magic, digest of the rest, length of the header, header, glue, modules. Of an archive that will
 * lie beside it, it names the place of every module that is in there as it is, and leaves it out.
 */
export function encodeTranspiled(component: TranspiledComponent, archive?: ArchiveBeside): Uint8Array {
  const glue = Buffer.from(component.glue);
  const { places, slice } = placesIn(archive, component.modules);
  const header: Header = {
    componentSha256: component.componentSha256,
    imports: component.imports,
    interfaces: component.interfaces,
    glueBytes: glue.length,
    glueSha256: component.glueSha256,
    modules: component.modules.map(({ name, bytes }, index) => ({ name, size: bytes.length, ...places[index] })),
    ...(slice === null ? {} : { slice }),
  };
  const headerText = Buffer.from(JSON.stringify(header));
  const headerLength = Buffer.alloc(lengthBytes);
  headerLength.writeUInt32LE(headerText.length);
  const own = component.modules.filter((_module, index) => places[index] === undefined).map(({ bytes }) => bytes);
  const rest = Buffer.concat([headerLength, headerText, glue, ...own]);
  return Buffer.concat([magic, digest(rest), rest]);
}

function placesIn(
  archive: ArchiveBeside | undefined,
  modules: readonly CoreModule[],
): { readonly places: readonly ({ readonly at: number } | undefined)[]; readonly slice: ArchiveSlice | null } {
  if (archive === undefined) return { places: [], slice: null };
  const bytes = Buffer.from(archive.bytes);
  const starts = modules.map((module) => bytes.indexOf(module.bytes));
  const found = starts.flatMap((start, index) =>
    start === -1 ? [] : [{ start, end: start + sizeOf(modules[index]) }],
  );
  if (found.length === 0) return { places: [], slice: null };
  const from = Math.min(...found.map(({ start }) => start));
  const to = Math.max(...found.map(({ end }) => end));
  return {
    places: starts.map((start) => (start === -1 ? undefined : { at: start - from })),
    slice: { archive: archive.name, from, to, digest: digest(bytes.subarray(from, to)).toString('hex') },
  };
}

function sizeOf(module: CoreModule | undefined): number {
  return module?.bytes.length ?? 0;
}

const isHead = isObjectOf({
  componentSha256: isText,
  imports: isListOf(isText),
  interfaces: isListOf(isText),
  glueSha256: (value: unknown): value is string => isText(value) && sha256Shape.test(value),
});

/** What a file of this form says of itself. Only who reads all of it finds out whether it is whole. */
export interface TranspiledHead extends Guarded<typeof isHead> {
  /** The hash of all bytes behind the head, in hex. */
  readonly digest: string;
}

/** Returns null when these are not the first bytes of such a file, up to the end of its header at least. */
export function transpiledHead(start: Buffer): TranspiledHead | null {
  if (start.length < headerAt || !start.subarray(0, magic.length).equals(magic)) return null;
  const glueAt = headerAt + start.readUInt32LE(headerAt - lengthBytes);
  if (glueAt > start.length) return null;
  const header = parsed(start.toString('utf8', headerAt, glueAt));
  return isHead(header) ? { ...header, digest: digestIn(start).toString('hex') } : null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** The digest that stands in a file. */
function digestIn(file: Buffer): Buffer {
  return file.subarray(magic.length, magic.length + digestBytes);
}

/** A file whose bytes are whole; the core modules that it leaves to an archive are still to be read. */
export interface OpenedTranspiled {
  /** As `TranspiledHead` has it. */
  readonly digest: string;
  readonly component: Omit<TranspiledComponent, 'modules'>;
  /** Is null when it has every module itself. */
  readonly slice: ArchiveSlice | null;
  /** With the bytes of the slice, none without a slice. Returns null when they are not those that were encoded. */
  with(slice: Uint8Array): TranspiledComponent | null;
}

/** Returns null for bytes that are no whole file of this form: cut short, altered, or written by another version. */
export function openTranspiled(file: Uint8Array): OpenedTranspiled | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < headerAt || !bytes.subarray(0, magic.length).equals(magic)) return null;
  const rest = bytes.subarray(magic.length + digestBytes);
  if (!digest(rest).equals(digestIn(bytes))) return null;
  const glueAt = headerAt + rest.readUInt32LE(0);
  // The digest vouches for what follows: these are the bytes that were encoded.
  const header = JSON.parse(bytes.toString('utf8', headerAt, glueAt)) as Header;
  const { componentSha256, imports, interfaces, glueBytes, glueSha256, slice = null } = header;
  const glue = bytes.toString('utf8', glueAt, glueAt + glueBytes);
  const component = { componentSha256, imports, interfaces, glue, glueSha256 };
  return {
    digest: digestIn(bytes).toString('hex'),
    component,
    slice,
    with(elsewhere) {
      if (slice !== null && digest(elsewhere).toString('hex') !== slice.digest) return null;
      let next = glueAt + glueBytes;
      const modules = header.modules.map(({ name, size, at }) => {
        if (at !== undefined) return { name, bytes: elsewhere.subarray(at, at + size) };
        next += size;
        return { name, bytes: bytes.subarray(next - size, next) };
      });
      return { ...component, modules };
    },
  };
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('blake2b512').update(bytes).digest();
}

/** What the compiler's process answers to the bytes of one component. */
export type CompilerAnswer =
  | {
      readonly kind: 'transpiled';
      readonly imports: readonly string[];
      readonly interfaces: readonly string[];
      readonly glue: string;
      readonly modules: readonly CoreModule[];
    }
  /** The bytes are not a component that can be run. With `hint` they are one, and need what this host does not have. */
  | { readonly kind: 'refused'; readonly reason: string; readonly hint?: string };
