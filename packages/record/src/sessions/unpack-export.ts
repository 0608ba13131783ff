/** Takes in the archive of an exported session, which may come from a stranger. */

import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { type Archive, readArchive } from '@svc/artifacts/store/archive.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { writeAllSync } from '@svc/kit/files/transfer-sync.ts';
import { bodiesDirectory, journalFile } from '../journal/journal-writer.ts';
import { exportLimits } from './export-limits.ts';

const bodyShape = new RegExp(`^${bodiesDirectory}/[0-9a-f]{64}$`);

/**
 * Unpacks an export into a folder that is there and empty, owner-only. Anything but a journal and bodies that have the hash of their name is
 * `E-RUN-074`, and what is wrong with the archive itself has the codes of archives. Messages call it by its label. Where it throws, the folder
 * holds what came before, which nobody has checked: the caller removes it.
 */
export async function unpackExport(path: string, folder: string, label: string = path): Promise<void> {
  const file = await RegularFile.open(path, label);
  try {
    const archive = await readArchive(file, exportLimits);
    checkNames(archive);
    mkdirSync(join(folder, bodiesDirectory), { mode: 0o700 });
    for (const name of archive.files) {
      const sha256 = await unpack(archive, name, join(folder, name));
      if (name !== journalFile && sha256 !== name.slice(bodiesDirectory.length + 1)) {
        throw noExport(label, `${quoted(name)} has another hash than its name`);
      }
    }
  } catch (error) {
    throw ioFault(withNextStep(error), `cannot unpack ${label}`);
  } finally {
    await file.close();
  }
}

/** Writes one file, in pieces: an entry may be as large as all that an archive may hold. Gives the SHA-256 of its bytes in hex. */
async function unpack(archive: Archive, name: string, path: string): Promise<string> {
  const hash = createHash('sha256');
  const target = openSync(path, 'wx', 0o600);
  try {
    for await (const piece of archive.pieces(name)) {
      hash.update(piece);
      writeAllSync(target, piece);
    }
  } finally {
    closeSync(target);
  }
  return hash.digest('hex');
}

/** Says of a damaged archive what can be done about it. */
function withNextStep(error: unknown): unknown {
  if (!(error instanceof Diagnostic) || error.code !== 'E-ART-001') return error;
  return new Diagnostic(error.code, error.message, {
    hint: 'nothing was taken from it; fetch the file again, or export its session again: svc trace export <session> -o <file.zip>',
    cause: error,
  });
}

function checkNames(archive: Archive): void {
  if (!archive.has(journalFile)) throw noExport(archive.where, `it holds no ${journalFile}`);
  const other = archive.files.find((name) => name !== journalFile && !bodyShape.test(name));
  if (other !== undefined) throw noExport(archive.where, `it holds ${quoted(other)}`);
}

/** `E-RUN-074` */
export function noExport(path: string, fault: string): Diagnostic {
  return new Diagnostic('E-RUN-074', `${path} is not an exported session: ${fault}`, {
    hint: 'svc trace export makes one; nothing was taken from this one',
  });
}
