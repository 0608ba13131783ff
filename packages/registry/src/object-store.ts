/** What the registry needs of a place that stores its archives and records. */

import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';

import type { SignatureStore } from './signature-store.ts';

/** An archive in a file of this machine, whole but perhaps not on the disk yet, alone in a directory of its own that a store may take. */
export interface StagedArchive {
  readonly directory: string;
  /** The path of the archive in it. */
  readonly path: string;
  /** The archive, open to be read and synced; who has received it closes it. */
  readonly file: FileHandle;
  readonly bytes: number;
  readonly sha256: string;
}

/** What an object consists of: the bytes of an archive, and a small text that says what they are. */
export interface NewObject {
  readonly record: string;
  readonly archive: StagedArchive;
}

/** A part of an archive, both ends included. */
export interface ByteSpan {
  readonly first: number;
  readonly last: number;
}

/** An archive that is a file, to be read from `start` on. */
export interface OpenedFile {
  readonly file: FileHandle;
  readonly start: number;
}

/**
 * Where a registry keeps its artifacts. Objects are put once and never change. Every implementation passes the suite in
 * `packages/registry/test/object-store-contract.ts`.
 */
export interface ObjectStore {
  /**
   * Makes record and archive visible together and durable, or changes nothing and answers `taken` when the key has an object. Of any
   * number of writers of one key, in any number of processes, exactly one gets `stored`. A writer that dies leaves an object or none.
   * `E-IO-001` when the store cannot be written.
   */
  put(key: string, object: NewObject): Promise<'stored' | 'taken'>;
  /** The record of an object that was stored before the call; null without one. */
  readRecord(key: string): Promise<string | null>;
  /** The bytes of an archive, whole or a part of them, for the caller to destroy or to close; null when there is no such object. */
  openArchive(key: string, span?: ByteSpan): Promise<Readable | OpenedFile | null>;
  /** The signatures of all archives, also of such that are not published yet. */
  readonly signatures: SignatureStore;
  /** The keys of all objects that were stored before the call, in no order. */
  listKeys(): Promise<readonly string[]>;
  /** Keeps the text of a state under a key of its own, apart from objects: with all that `put` promises. */
  putState(key: string, text: string): Promise<'stored' | 'taken'>;
  /** The text of a state that was stored before the call; null without one. */
  readState(key: string): Promise<string | null>;
  /** The keys of all states that were stored before the call, in no order. */
  listStateKeys(): Promise<readonly string[]>;
}

/** What a key looks like. There are no two that differ in case alone, so that they are file names everywhere. */
export const objectKeyShape = /^[0-9a-z][0-9a-z.+@-]{0,229}$/;

/** A key on its way to become a path or the name of an object. Throws for one that is neither: its maker has to have checked what it is made of. */
export function checkedKey(key: string): string {
  if (!objectKeyShape.test(key)) throw new Error('the key of an object was not checked');
  return key;
}
