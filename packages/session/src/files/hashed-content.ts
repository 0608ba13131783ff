/** What one reading of a file gives, and what ends a reading early. */

import type { FileHandle } from 'node:fs/promises';

/** The bytes of one reading of a file, and the hash of exactly these bytes. */
export interface FileContent {
  readonly sha256: string;
  readonly length: number;
  /** Bytes, or a file that begins with them; its holder closes it. */
  readonly body: Buffer | FileHandle;
  /** To be called once nobody needs the bytes any more; `isFree` when nobody will even look at them. */
  readonly onDone?: (isFree: boolean) => void;
}

/** A read that this program did not begin, or did not go on with. It has a code, as errors of the system have: it is no bug. */
export class UnfinishedRead extends Error {
  readonly code: 'EDQUOT' | 'ECANCELED';

  constructor(code: 'EDQUOT' | 'ECANCELED', message: string) {
    super(message);
    this.code = code;
  }
}

/** Throws `UnfinishedRead` for work whose answer nobody waits for any more. */
export function demandAwaited(isAwaited: () => boolean): void {
  if (!isAwaited()) throw new UnfinishedRead('ECANCELED', 'nobody waits for the answer');
}
