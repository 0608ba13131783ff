/** Files as the planes of a capsule describe them: the listing, and the headers of a read (D3 "Operator plane", "Peer plane"). */

import { containmentClasses, type ContainmentClass } from './containment-class.ts';
import { decodeEntityTag, encodeEntityTag } from './entity-tag.ts';
import { asJsonObject, isFiniteNumber, oneOf, stringOr } from './json-object.ts';
import { decodeStrictUtf8 } from './strict-utf8.ts';

/** Everything of a capsule's planes is below it. */
export const resourcesPath = '/resources/';

/** One regular file (D3 "Listing document"). */
export interface ListedFile {
  readonly path: string;
  readonly size_bytes: number;
  readonly mtime_ms: number;
  readonly sha256: string;
}

/** The listing document without its entries. */
export interface ListingHead {
  readonly root: string;
  readonly mode: 'read-only';
  readonly max_bytes: number;
  readonly generation: number;
  readonly containment_achieved: ContainmentClass;
}

const pieceLength = 32 * 1024;

/** The document as JSON text, in pieces of some size. */
export async function* encodeListing(head: ListingHead, files: AsyncIterable<ListedFile>): AsyncGenerator<string> {
  let text = `${JSON.stringify(head).slice(0, -1)},"entries":[`;
  let separator = '';
  for await (const file of files) {
    text += separator + JSON.stringify(file);
    separator = ',';
    if (text.length < pieceLength) continue;
    yield text;
    text = '';
  }
  yield `${text}]}`;
}

/** The listing as a client reads it. */
export interface Listing {
  readonly root: string;
  readonly maxBytes: number;
  readonly generation: number;
  /** Is null if the class is not known. */
  readonly containment: ContainmentClass | null;
  readonly files: readonly ListedFile[];
}

/** Returns null for anything else; keys that it does not know are ignored. */
export function decodeListing(document: unknown): Listing | null {
  const {
    root,
    max_bytes: maxBytes,
    generation,
    containment_achieved: achieved,
    entries,
  } = asJsonObject(document) ?? {};
  if (typeof root !== 'string' || !isWhole(maxBytes) || !isWhole(generation) || !Array.isArray(entries)) return null;
  const files: ListedFile[] = [];
  for (const entry of entries) {
    const { path, size_bytes, mtime_ms, sha256 } = asJsonObject(entry) ?? {};
    if (typeof path !== 'string' || !isWhole(size_bytes) || !isFiniteNumber(mtime_ms)) return null;
    if (typeof sha256 !== 'string') return null;
    files.push({ path, size_bytes, mtime_ms, sha256 });
  }
  return { root, maxBytes, generation, containment: oneOf(achieved, containmentClasses), files };
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

/** What the headers of a read say of its bytes. */
export interface FileFacts {
  readonly sha256: string;
  /** Unix milliseconds. */
  readonly mtimeMs: number;
  /** Tasks that had reached a terminal state (D3 "Generation"). */
  readonly generation: number;
  readonly containment: ContainmentClass;
}

export function encodeFileFacts({ sha256, mtimeMs, generation, containment }: FileFacts): Record<string, string> {
  return {
    etag: encodeEntityTag(sha256),
    'x-svc-mtime-ms': String(mtimeMs),
    'x-svc-generation': String(generation),
    'x-svc-containment': containment,
  };
}

/** For the operator plane: one character a byte is how a header carries UTF-8. */
export function encodeExportRoot(root: string): Readonly<Record<string, string>> {
  return {
    'x-svc-export-root': Array.from(new TextEncoder().encode(root), (byte) => String.fromCharCode(byte)).join(''),
  };
}

/** For the peer plane. */
export function encodeHandleId(handleId: string): Readonly<Record<string, string>> {
  return { 'x-svc-handle-id': handleId };
}

/** What the headers of a read say; null for each that is missing or of another form. */
export interface DecodedFileFacts {
  readonly sha256: string;
  readonly generation: number;
  readonly mtimeMs: number | null;
  readonly containment: ContainmentClass | null;
  readonly exportRoot: string | null;
  readonly handleId: string | null;
}

/** Returns null without the hash and the generation of a file. `header` gives the value of a header, undefined for one that is absent. */
export function decodeFileFacts(header: (name: string) => string | undefined): DecodedFileFacts | null {
  const sha256 = decodeEntityTag(header('etag'));
  const generation = wholeIn(header('x-svc-generation'));
  if (sha256 === null || generation === null) return null;
  return {
    sha256,
    generation,
    mtimeMs: wholeIn(header('x-svc-mtime-ms')),
    containment: oneOf(header('x-svc-containment'), containmentClasses),
    exportRoot: decodeExportRoot(header('x-svc-export-root')),
    handleId: stringOr(header('x-svc-handle-id'), null),
  };
}

function wholeIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function decodeExportRoot(latin1: string | undefined): string | null {
  return latin1 === undefined ? null : decodeStrictUtf8(Uint8Array.from(latin1, (char) => char.charCodeAt(0)));
}
