/** Finds the sessions that a workspace keeps recorded tests of. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { readArchive } from '@svc/artifacts/store/archive.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { journalFile } from '@svc/record/journal/journal-writer.ts';
import { exportLimits } from '@svc/record/sessions/export-limits.ts';
import { recordingFile } from '../../look-back/test/test-folders.ts';

const testsFolder = 'tests';
const maxTests = 1000;

/** Their ids, by the recordings in `tests/` beside the manifest, where `svc test` looks. A recording whose beginning cannot be read keeps no session. */
export async function testedSessions(root: string): Promise<ReadonlySet<string>> {
  const sessions = new Set<string>();
  const names = unlessRefused(() => readdirSync(join(root, testsFolder)), []);
  for (const name of names.slice(0, maxTests)) {
    const session = await sessionOf(join(root, testsFolder, name, recordingFile));
    if (session !== null) sessions.add(session);
  }
  return sessions;
}

async function sessionOf(path: string): Promise<string | null> {
  let file: RegularFile;
  try {
    file = await RegularFile.open(path, path);
  } catch (error) {
    // No test.
    if (error instanceof Diagnostic) return null;
    throw error;
  }
  try {
    const journal = await (await readArchive(file, exportLimits)).readStart(journalFile, 4096);
    const [, session = ''] = /"session":"(\w{1,64})"/.exec(journal.toString('latin1')) ?? [];
    return isSessionId(session) ? session : null;
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  } finally {
    await file.close();
  }
}
