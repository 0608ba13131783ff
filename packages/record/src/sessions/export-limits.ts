/** How large an exported session may be: export writes nothing that import would refuse. */

import { type ArchiveLimits, archiveLimits } from '@svc/artifacts/store/archive-entry.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** A session has a file for each long text, and each of those has more than 64 KiB. What an archive has beside its files fits in what it may have more than they. */
export const exportLimits: ArchiveLimits = { ...archiveLimits, maxEntries: 16_384 };

/** Adds up what is to go into an export, before it is read. */
export class ExportSize {
  #files = 0;
  #bytes = 0;

  /** One file more. `E-RUN-068` once they are too many, or too much. */
  add(bytes: number): void {
    this.#files += 1;
    this.grow(bytes);
    if (this.#files > exportLimits.maxEntries) {
      throw tooLarge(`its long texts and its journal are more than ${exportLimits.maxEntries} files`);
    }
  }

  /** One of the files is larger than it was said to be. */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > exportLimits.maxUnpackedBytes) {
      throw tooLarge(`it has more than ${exportLimits.maxUnpackedBytes / (1024 * 1024)} MiB`);
    }
  }
}

/** `E-RUN-068` */
export function tooLarge(why: string): Diagnostic {
  return new Diagnostic('E-RUN-068', `the session is too large to be exported: ${why}`, {
    hint: 'nothing was written; --redact leaves the texts out, and svc trace takes the path of a copied session folder too',
  });
}
