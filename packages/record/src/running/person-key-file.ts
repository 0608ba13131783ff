/** Keeps the key with which a person answers the approvals of a session where only that user's processes read it. */

import { lstatSync, readFileSync } from 'node:fs';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { keySuffix, recordPath, removeIfPossible, type RunningRecord } from '../sessions/running-record.ts';

/** In `~/.svc/running`, 0600. Returns what takes it away again. Throws the Diagnostic of a key that cannot be kept. */
export function keepPersonKey(home: string, record: RunningRecord, key: Secret): () => void {
  const path = keyPath(home, record);
  try {
    replaceFileSync(path, Buffer.from(key.reveal()), { mode: 0o600, isDurable: false });
  } catch (error) {
    throw ioFault(error, `the key for approvals cannot be kept at ${path}`);
  }
  return () => removeIfPossible(path);
}

/** Returns null for a session that asks for no approvals, and if others may read or have written the file. */
export function readPersonKey(home: string, record: RunningRecord): Secret | null {
  const path = keyPath(home, record);
  try {
    const status = lstatSync(path);
    if (!status.isFile() || (status.mode & 0o077) !== 0) return null;
    return new Secret(readFileSync(path, 'utf8'));
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}

/** Beside the record, with its name. */
function keyPath(home: string, record: RunningRecord): string {
  return recordPath(home, record).replace(/\.json$/, keySuffix);
}
