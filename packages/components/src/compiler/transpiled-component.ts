/** Says what a compiled component consists of, and keeps it in one file. */

import { createHash } from 'node:crypto';

import { sha256Hex } from '@svc/kit/sha256.ts';

/** A component as the compiler left it: a script that links it and the core modules the script asks for. */
export interface TranspiledComponent {
  /** Of the bytes of `component.wasm`, lowercase hex. */
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

interface Header {
  readonly componentSha256: string;
  readonly imports: readonly string[];
  readonly interfaces: readonly string[];
  readonly glueBytes: number;
  readonly glueSha256: string;
  readonly modules: readonly { readonly name: string; readonly size: number }[];
}

/** Counts up with every change to the form of the file, the glue or the compiler's options. */
export const transpiledFormat = 3;

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

/** The one file a transpiled component is kept in: magic, digest of the rest, length of the header, header, glue, modules. */
export function encodeTranspiled(component: TranspiledComponent): Uint8Array {
  const glue = Buffer.from(component.glue);
  const header: Header = {
    componentSha256: component.componentSha256,
    imports: component.imports,
    interfaces: component.interfaces,
    glueBytes: glue.length,
    glueSha256: component.glueSha256,
    modules: component.modules.map(({ name, bytes }) => ({ name, size: bytes.length })),
  };
  const headerText = Buffer.from(JSON.stringify(header));
  const headerLength = Buffer.alloc(lengthBytes);
  headerLength.writeUInt32LE(headerText.length);
  const rest = Buffer.concat([headerLength, headerText, glue, ...component.modules.map(({ bytes }) => bytes)]);
  return Buffer.concat([magic, digest(rest), rest]);
}

/** Null when the bytes are not a whole file of this form: cut short, altered, or written by another version. */
export function decodeTranspiled(file: Uint8Array): TranspiledComponent | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < headerAt || !bytes.subarray(0, magic.length).equals(magic)) return null;
  const rest = bytes.subarray(magic.length + digestBytes);
  if (!digest(rest).equals(bytes.subarray(magic.length, magic.length + digestBytes))) return null;
  const glueAt = headerAt + rest.readUInt32LE(0);
  // The digest vouches for what follows: these are the bytes that were encoded.
  const header = JSON.parse(bytes.toString('utf8', headerAt, glueAt)) as Header;
  let at = glueAt + header.glueBytes;
  const modules = header.modules.map(({ name, size }) => {
    at += size;
    return { name, bytes: bytes.subarray(at - size, at) };
  });
  const { componentSha256, imports, interfaces, glueSha256 } = header;
  const glue = bytes.toString('utf8', glueAt, glueAt + header.glueBytes);
  return { componentSha256, imports, interfaces, glue, glueSha256, modules };
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
  /** The bytes are not a component that can be run. */
  | { readonly kind: 'refused'; readonly reason: string };
